"""Python's cycle collector in a process that holds many long-lived values."""

import gc

YOUNG, MIDDLE, OLD = 2_000, 250, 1_000


def rare_collections() -> None:
    """Young objects are looked at after 2,000 new ones, which takes a millisecond or so, those that
    stayed after half a million. Texts, clients and messages form no cycles, are freed by reference
    counts, and stay in caches by the hundred thousand: with Python's own thresholds looking through
    them again and again took a third of an interaction's time (0.7 of 1.9 ms, ML-100k)."""
    gc.set_threshold(YOUNG, MIDDLE, OLD)
