"""Checks of a commit: it is refused if another process was first.

A store reads the arguments of a check in the commit's own transaction. If a check raises, nothing
is stored.
"""

from collections.abc import Iterable, Mapping, Sequence

from propagation.model import ClientText, LeaseLost, ReasonClaim, Withdrawal
from propagation.ports import Lease, VersionClash


def check_claim(claim: ReasonClaim, found: bool, sequences: Iterable[int]) -> None:
    """Check that a claim is still held, and holds these interactions.

    Args:
        claim: The claim under which something was reasoned.
        found: Whether the graph has the claim.
        sequences: The sequences of the interactions that the commit ends.

    Raises:
        LeaseLost: The claim is not held, or does not hold one of the interactions.
    """
    if not found:
        raise LeaseLost(
            f"claim {claim.token} of worker {claim.worker!r} is no longer held: it expired and was"
            " taken over, or something was withdrawn, or routers evolved"
        )
    claimed = {work.sequence for work in claim.work}
    for sequence in sequences:
        if sequence not in claimed:
            raise LeaseLost(f"claim {claim.token} does not hold interaction {sequence}")


def check_lease(lease: Lease, token: int | None) -> None:
    """Check that no other holder has taken a lease over.

    Args:
        token: The newest token that the graph has of the lease; None: it has none.

    Raises:
        LeaseLost: Another holder has taken it over.
    """
    if token != lease.token:
        raise LeaseLost(
            f"lease {lease.name!r} was taken over by token {token}; this holder had {lease.token}"
        )


def check_block_follows(after: int, learned: int) -> None:
    """Check that a learned block starts where the last one ends.

    Args:
        after: The block covers the log from just after this sequence.
        learned: The sequence up to which everything is learned.

    Raises:
        LeaseLost: The block starts elsewhere.
    """
    if after != learned:
        raise LeaseLost(
            f"this block starts after sequence {after}, but the store has learned through {learned}"
        )


def check_round_follows(number: int, last: int) -> None:
    """Check that no other round was published since this one began.

    Args:
        number: The number of the round that is to be published.
        last: The number of the last published round, 0 without one.

    Raises:
        LeaseLost: Another round was published.
    """
    if number != last + 1:
        raise LeaseLost(f"round {number} does not follow the last published round, {last}")


def check_texts_follow(versions: Iterable[tuple[int, int]], newest: Mapping[int, int]) -> None:
    """Check that each text is its client's next version.

    Args:
        versions: (ref, version) of the texts, in the order of the commit.
        newest: The newest stored version of each client, 0 without one. A client that was forgotten
            is missing.

    Raises:
        VersionClash: A text is not the next version, or its client was forgotten.
    """
    last = dict(newest)
    for ref, version in versions:
        if ref not in last or version != last[ref] + 1:
            raise VersionClash(ref)
        last[ref] = version


def check_no_withdrawal(
    texts: Sequence[ClientText], read_after: int | None, last_withdrawal: int
) -> None:
    """Check that nothing was withdrawn since these texts' sources were read.

    Args:
        texts: The texts of the commit.
        read_after: The last withdrawal when they were read; None: it does not matter.
        last_withdrawal: The last withdrawal now.

    Raises:
        VersionClash: Something was withdrawn.
    """
    if texts and read_after not in (None, last_withdrawal):
        raise VersionClash(texts[0].profile.ref)


def check_uncited(withdrawal: Withdrawal, texts: Iterable[ClientText]) -> None:
    """Check that no text rests on what a withdrawal takes or changes.

    Args:
        withdrawal: Its interactions are withdrawn, and its messages change.
        texts: The texts committed since the withdrawal searched for texts.

    Raises:
        VersionClash: A line or a filter rule of one of the texts rests on them.
    """
    sequences = {row.sequence for row in withdrawal.interactions}
    messages = {(message.router, message.version) for message in withdrawal.messages}
    for text in texts:
        if any(
            source.sequence in sequences or source.message in messages
            for line in text.profile.lines
            for source in line.sources
        ) or any(
            not sequences.isdisjoint((*rule.evidence, rule.age))
            for rule in text.filter_memory.rules
        ):
            raise VersionClash(text.profile.ref)


def check_orphans(withdrawal: Withdrawal, found: Iterable[int]) -> None:
    """Check that an erasure takes the right items with it.

    Args:
        found: Result of ErasureStore.find_orphans now.

    Raises:
        VersionClash: An event that came meanwhile names one of them, or created another one.
    """
    if changed := set(withdrawal.orphans).symmetric_difference(found):
        raise VersionClash(min(changed))


def check_staged(found: int) -> None:
    """Check that a staged checkpoint was not deleted.

    Args:
        found: How many checkpoints the commit found; 0: it is gone.

    Raises:
        LeaseLost: Another checkpoint was begun, which deletes this one.
    """
    if not found:
        raise LeaseLost("another checkpoint was begun before this one was complete")
