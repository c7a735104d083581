"""How far a router's messages went."""

from propagation.model.base import Term


class MessageReach(Term):
    """Of the merges of one router's messages that were asked for and are kept: distinct `clients`
    that merged one into their profile, and what became of messages at their receivers, one count a
    message and client: merged, refused by a filter rule, empty for this client, or fallen out of a
    full buffer."""

    router: int
    clients: int
    merged: int
    filtered: int
    empty: int
    fell_out: int
