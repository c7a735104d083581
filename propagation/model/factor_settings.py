"""What the ranker learns beside the routers, as the numbers take it."""

from typing import NamedTuple


class FactorSettings(NamedTuple):
    """What is learned, and how thoroughly.

    Attributes:
        history: Length of the history factor's vectors; 0: there is none.
        taste: Length of the taste vectors; 0: there are none.
        replays: Old adoptions, drawn from the whole list, that the history factor learns again
            with each new one; `recent_replays` are drawn from the newest.
        steps: Steps of the taste vectors with each new adoption, on the whole list; `own_steps` on
            the user's own adoptions.
        by_seconds: Whether the fast kNN fades by the seconds between choices, not by their order
            alone.
    """

    history: int
    taste: int
    replays: int
    recent_replays: int
    steps: int
    own_steps: int
    by_seconds: bool


NO_FACTORS = FactorSettings(0, 0, 0, 0, 0, 0, by_seconds=False)
