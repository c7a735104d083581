"""A generated catalogue, its users and their events.

A town has planted communities, in two halves, and its events follow Zipf's law. Item i belongs to
community i mod `communities`, and so does user i. Community c lies in half c mod 2, so that two
users of different halves share few routers.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from propagation.model import ClientChange, ClientKey, ClientKind

SIDES = 2
HOME_SHARE, SIDE_SHARE = 0.6, 0.35
WORDS_A_COMMUNITY, WORDS_A_SIDE = 12, 30
PROBES_A_COMMUNITY = 5
PROBERS_A_COMMUNITY = 10


@dataclass(frozen=True)
class Town:
    """Sizes of a generated state.

    No user adopts one of the last `probes` items.

    Attributes:
        texts: The number of newest interactions that are also reasoned.
    """

    users: int
    items: int
    interactions: int
    texts: int = 20_000
    communities: int = 40
    seed: int = 7

    @property
    def probes(self) -> int:
        return PROBES_A_COMMUNITY * self.communities

    def probe_items(self) -> range:
        return range(self.items - self.probes, self.items)

    def probers(self) -> range:
        """Return the rows of the probes' users: the last of each community."""
        return range(self.users - PROBERS_A_COMMUNITY * self.communities, self.users)

    def without_probers(self) -> "Town":
        """Return the town without the probes' users, for background events."""
        return replace(self, users=self.probers().start)


def read_clients(town: Town) -> Iterator[ClientChange]:
    """Yield the items and users of a town.

    Items have words of their community and of its half; users have no text.
    """
    rng = np.random.default_rng(town.seed)
    own = rng.integers(0, WORDS_A_COMMUNITY, (town.items, 3))
    shared = rng.integers(0, WORDS_A_SIDE, (town.items, 2))
    for row in range(town.items):
        community = row % town.communities
        side = community % SIDES
        words = [
            *(f"c{community}w{word}" for word in own[row]),
            *(f"side{side}w{word}" for word in shared[row]),
        ]
        yield ClientChange(
            key=ClientKey(kind=ClientKind.ITEM, id=f"i{row}"),
            title=f"Thing {row}",
            attributes=tuple(dict.fromkeys(words)),
        )
    for row in range(town.users):
        yield ClientChange(key=ClientKey(kind=ClientKind.USER, id=f"u{row}"))


def pairs_of(town: Town, count: int, seed: int) -> NDArray[np.int64]:
    """Draw the rows of user and item of each event [count, 2].

    Users are uniform. Items follow Zipf's law with exponent 1, in the user's own community with
    probability .6, in the user's half with .35, else anywhere; never a probe item.
    """
    rng = np.random.default_rng(seed)
    known = town.items - town.probes
    users = rng.integers(0, town.users, count)
    ranks = np.minimum(np.exp(rng.random(count) * np.log(known)).astype(np.int64), known - 1)
    where = rng.random(count)
    period = np.where(
        where < HOME_SHARE, town.communities, np.where(where < HOME_SHARE + SIDE_SHARE, SIDES, 1)
    )
    return np.stack([users, (ranks // period * period + users % period) % known], axis=1)


def town_of_100k_clients(short: bool) -> Town:
    """Return the town for memory and start.

    In a full run it has 50,000 users, 50,000 items and 1M interactions.
    """
    return Town(2_000, 4_000, 20_000) if short else Town(50_000, 50_000, 1_000_000)


def catalogue_town(short: bool) -> Town:
    """Return the town for reads: 50,000 users, 100,000 items, 1M interactions."""
    return Town(2_000, 4_000, 20_000, 1_000) if short else Town(50_000, 100_000, 1_000_000)


def lived_town(short: bool) -> Town:
    """Return the town for reads, with texts of 220,000 interactions.

    So many interactions are more than retention keeps (200,000 sequences).
    """
    return catalogue_town(short) if short else replace(catalogue_town(short), texts=220_000)
