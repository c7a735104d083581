"""How far a router's messages went."""

from propagation.model.base import Term


class Reach(Term):
    """Of what is kept of one router's messages: distinct `clients` that merged one into their profile, and what became of
    messages at their receivers, one count a message and client: merged, refused by a filter rule, empty for this client, or
    fallen out of a full buffer."""

    router: int
    clients: int
    merged: int
    filtered: int
    empty: int
    fell_out: int
