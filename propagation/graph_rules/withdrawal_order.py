"""The order of a withdrawal, and what it does to attributes.

A withdrawal is one commit of several steps.
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum

from propagation.model import Attribute, EntryKind, IntegratedAttribute, RouterVersion, Withdrawal


class WithdrawalStep(StrEnum):
    """One step of the commit that retracts interactions or erases a client.

    The steps stand in the order in which a store runs them. A store maps each step to the
    statements that do it, and takes the steps from `order_withdrawal_steps`. See docs/design.md,
    "State".
    """

    VOID_CLAIMS = "void claims"
    """Free all claims, so that no worker commits texts that rest on withdrawn interactions."""
    CHECK_CITATIONS = "check citations"
    """Raise VersionClash if a newer text than `texts_read_through` cites what goes.

    So does an event that came meanwhile, if it changes which items go with the client.
    """
    DISCARD_STAGED = "discard staged"
    """Drop the unpublished round and the staged numbers: both may hold what goes."""
    WITHDRAW_INTERACTIONS = "withdraw interactions"
    """Remove the interactions, their weights and reasoning results; promote repeats.

    A retraction keeps their event ids as retracted; an erasure keeps keyed hashes only, and also
    takes the client's interactions that were recorded meanwhile.
    """
    APPEND_LOG_ENTRY = "append log entry"
    """Write the RETRACTION or ERASURE entry, which gives the withdrawal its sequence.

    An ORPHANS entry stands before it if items go (`list_entries`).
    """
    CHANGE_TEXTS = "change texts"
    """Rewrite stored versions in place and add the next versions, at the entry's sequence."""
    ERASE_CLIENT = "erase client"
    """Remove the client, its texts, edges, gradients and message parts; its ref is never reused.

    The same of the items that go with it. Older log entries lose the refs of all of them.
    """
    MOVE_TEXTS = "move texts"
    """Move what was written at the sequence of an erased interaction to another sequence.

    Otherwise an item's new version at a gap of the log would tell that the client chose it then. A
    version moves to the sequence of the next version of its client that is at no such gap, and is
    hidden by it; without such a version, it moves to the entry's sequence. The next version may
    have an earlier sequence, because interactions may be reasoned in any order. An outcome of
    reception moves to the sequence of its version.
    """
    REDUCE_MESSAGES = "reduce messages"
    """Remove message parts that came from withdrawn interactions, and of attributes that go.

    Gradients of the message's readers that name or have such an attribute go, too.
    """
    CHANGE_ATTRIBUTES = "change attributes"
    """Recount holders; remove lost attributes with their mappings and gradients."""
    CHANGE_MESSAGES = "change messages"
    """Store the messages' new texts, count their senders anew, and queue them for the index.

    Also store the arrivals that still wait, and the evolutions' new reports; empty the reasons of
    dead letters that hold a word that goes.
    """
    PUBLISH_BARRIER = "publish barrier"
    """Make the staged checkpoint the newest barrier and drop older checkpoints."""
    MARK_FOR_WIPING = "mark for wiping"
    """Note that the database's files still hold traces of an erased client."""
    RECORD_SEQUENCE = "record sequence"
    """Store the entry's sequence as that of the last withdrawal."""
    EMPTY_CACHES = "empty caches"
    """Delete kept answers of language models: none says on whose texts it rests.

    These are the cached ones, and the exchanges of dead letters.

    The sequence is stored before this, so that a late answer to an earlier question is not kept.
    """


def list_entries(withdrawal: Withdrawal) -> list[tuple[EntryKind, tuple[int, ...]]]:
    """List the log entries of a withdrawal, its own last.

    The entry of an erased client names no item: side by side, they would tell what it took.

    Returns:
        (kind, refs) of each.
    """
    entry = withdrawal.kind, withdrawal.refs
    return [(EntryKind.ORPHANS, withdrawal.orphans), entry] if withdrawal.orphans else [entry]


KINDS_WITH_OTHERS = tuple(
    kind
    for kind in EntryKind
    if kind not in (EntryKind.CLIENTS, EntryKind.ERASURE, EntryKind.ORPHANS)
)
"""Kinds of entries whose refs may include a client that is erased later.

Those of the kind CLIENTS are found by the sequences of the client's contents.
"""


OF_ERASURES = frozenset(
    {WithdrawalStep.ERASE_CLIENT, WithdrawalStep.MOVE_TEXTS, WithdrawalStep.MARK_FOR_WIPING}
)


# A withdrawal that concerns nobody publishes new numbers: no text, claim or answer rests on it.
OF_NUMBERS = (
    WithdrawalStep.APPEND_LOG_ENTRY,
    WithdrawalStep.PUBLISH_BARRIER,
    WithdrawalStep.RECORD_SEQUENCE,
)


def order_withdrawal_steps(withdrawal: Withdrawal) -> list[WithdrawalStep]:
    """List the steps of a withdrawal, in their order."""
    if not withdrawal.refs:
        return list(OF_NUMBERS)
    return [
        step for step in WithdrawalStep if withdrawal.erased is not None or step not in OF_ERASURES
    ]


def choose_counted_attributes(
    message: RouterVersion, lost_parts: Iterable[IntegratedAttribute], names: frozenset[str]
) -> frozenset[str]:
    """Return the attributes of a message whose remaining senders must be found.

    They are those that lose a part, and those of `names` that the message has. A message that an
    evolution wrote has no senders.
    """
    searched = names.intersection(message.attributes) if message.integrated else frozenset()
    return searched | {part.attribute for part in lost_parts}


def find_indebted_routers(
    lost_in: Iterable[tuple[int, int]], origins: Mapping[int, frozenset[int]]
) -> set[int]:
    """Find the routers whose weights may change after a withdrawal.

    The debt of a router is the part of its weights that comes from lost parts. Routers inherit
    weights, so the routers that these evolved from are returned, too.

    Args:
        lost_in: The messages (router, version) that lose parts.
        origins: By router, the routers that it evolved from.
    """
    changed: set[int] = set()
    found = {router for router, _ in lost_in}
    while found:
        changed |= found
        heirs = {router for router, before in origins.items() if not found.isdisjoint(before)}
        found = heirs - changed
    return changed.union(*(origins.get(router, ()) for router in changed))


def choose_affected_keys(
    lost_in: Mapping[tuple[int, int], int], found: Iterable[tuple[int, int, int, bool]]
) -> list[tuple[int, int]]:
    """Choose the messages that a withdrawal may change.

    Weights change from the first round on in which a message loses a part. The newest message of
    each router before that round is needed, too: the later weights are computed from it.

    Args:
        lost_in: The rounds of the messages (router, version) that lose parts.
        found: (router, version, round, names what goes) of messages, by router, then version. Those
            that name nothing that goes are of routers that `find_indebted_routers` finds, and stand
            for an attribute of a lost part.

    Returns:
        (router, version) of each chosen message, in order.
    """
    first = min(lost_in.values(), default=0)
    chosen = set(lost_in)
    newest_before: dict[int, tuple[int, int]] = {}
    for router, version, number, names_it in found:
        if names_it or number >= first:
            chosen.add((router, version))
        else:
            newest_before[router] = router, version
    return sorted(chosen.union(newest_before.values()))


def find_lost_attributes(withdrawal: Withdrawal) -> list[str]:
    """List, by name, the attributes that no client holds after the withdrawal."""
    return sorted(one.name for one in withdrawal.recounted if one.holders <= 0)


def list_held_attributes(withdrawal: Withdrawal) -> list[Attribute]:
    """List the recounted attributes that are still held."""
    return [one for one in withdrawal.recounted if one.holders > 0]
