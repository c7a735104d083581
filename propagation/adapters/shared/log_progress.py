"""The check of how far a log was recorded, learned and reasoned."""

from collections.abc import Iterator


def find_progress_faults(
    entries: int, recorded: int, learned: int, reasoned: int, trust_gap: int | None
) -> Iterator[str]:
    """Describe what does not fit together; nothing if the database is sound.

    A description stays the same while a service goes on recording, so that two looks compare.

    Args:
        entries: How many entries the log holds, gaps of withdrawn interactions included.
        recorded: Where the log ends.
        trust_gap: The first sequence whose increments of trust are missing, if any are.
    """
    if entries < recorded:
        yield f"the log lacks {recorded - entries} of its entries"
    if entries > recorded:
        yield f"the log holds {entries - recorded} entries too many"
    if learned > recorded:
        yield f"learn has passed the log: it is at sequence {learned}"
    if reasoned > learned:
        yield f"reason has passed learn: it is at sequence {reasoned}"
    if trust_gap is not None:
        yield (
            f"increments of trust are missing from sequence {trust_gap} on, which no checkpoint"
            " covers; run `rebuild`"
        )
