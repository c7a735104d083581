"""Names of taste routers: what sets a community apart from others.

Names are for people. Routing, the routers' vectors and the ranking by numbers do not use them.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, combinations, count, permutations
from math import log

from propagation.model import RouterVersion, join_names, normalize_name
from propagation.routing.integration import compute_mean_shares

SMOOTHING = 0.02
"""Added to both shares of a lift, so that an attribute that came once does not win."""

TELLING = 8
"""A name consists of some of this many attributes, those with the largest lifts."""

SIZES = 2, 3, 1
WORD = re.compile(r"\w+")


class RouterNames:
    """Names routers one after another, each unlike the names of all others.

    A router keeps its name as long as all attributes in it are among its TELLING ones. So a name
    changes when the community does, and not when two attributes change places. Nothing is random:
    the same routers with the same names give the same answers.
    """

    def __init__(self, current: Iterable[RouterVersion]) -> None:
        """Begin with the newest versions of all routers."""
        versions = list(current)
        self._own = {version.router: version.name for version in versions if version.name}
        self._owners = {_split_words(name): router for router, name in self._own.items()}
        self._common = compute_mean_shares(dict(version.standing) for version in versions)

    def rename(self, router: int, standing: Mapping[str, float], proposed: str = "") -> str:
        """Name a router; no other router gets this name afterwards.

        Args:
            standing: Attributes that the router stands for, with their weights.
            proposed: A language model's name. If another router has this name, an attribute or a
                number in brackets is added. "": the name is made of attributes.

        Returns:
            The name; "" for a router that stands for nothing.
        """
        telling = find_telling_attributes(standing, self._common)
        own = self._own.get(router, "")
        keeps, phrases = (
            (own.startswith(proposed), _with_attributes(proposed, telling))
            if proposed
            else (_is_made_of(own, telling), _list_phrases(telling))
        )
        phrases = chain([own] if keeps else [], phrases)
        name = next(one for one in phrases if self._owners.get(_split_words(one), router) == router)
        if name:
            self._own[router] = name
            self._owners[_split_words(name)] = router
        return name


def name_router_versions(
    current: Iterable[RouterVersion], versions: Sequence[RouterVersion]
) -> list[RouterVersion]:
    """Name the next versions of routers.

    Args:
        current: The newest versions of all routers.
        versions: The next ones; their names are proposals (see RouterNames.rename).
    """
    before = {version.router: version for version in current}
    own = {router: version.name for router, version in before.items()}
    after = {one.router: replace(one, name=own.get(one.router, "")) for one in versions}
    names = RouterNames((before | after).values())
    return [
        replace(version, name=names.rename(version.router, dict(version.standing), version.name))
        for version in versions
    ]


def find_telling_attributes(weights: Mapping[str, float], common: Mapping[str, float]) -> list[str]:
    """List the attributes whose share is larger here than over all routers.

    Args:
        weights: Weight of each attribute here.
        common: Mean share (0 to 1) of each attribute over the routers.

    Returns:
        Those of the largest lifts ln((share + SMOOTHING) / (common share + SMOOTHING)), the largest
        first. If no share is larger here, as at the only router, those of the largest lifts anyway.
    """
    total = sum(weights.values())
    lifts = {
        name: round(log((weight / total + SMOOTHING) / (common.get(name, 0.0) + SMOOTHING)), 9)
        for name, weight in weights.items()
        if weight > 0
    }
    ranked = sorted(lifts, key=lambda name: (-lifts[name], -weights[name], name))[:TELLING]
    return [name for name in ranked if lifts[name] > 0] or ranked


def _list_phrases(telling: Sequence[str]) -> Iterator[str]:
    """Yield names of a router, the best first.

    Pairs of attributes come first, then threes, single ones, and finally numbered names. The caller
    takes the first name that no other router has. No name has two attributes of which one holds all
    words of the other.
    """
    if not telling:
        yield ""
    for size in SIZES:
        for places in sorted(combinations(range(len(telling)), size), key=sum):
            names = [telling[place] for place in places]
            if not any(
                _split_words(one) >= _split_words(other) for one, other in permutations(names, 2)
            ):
                yield join_names(names)
    yield from _number_names(telling[0])


def _with_attributes(proposed: str, telling: Sequence[str]) -> Iterator[str]:
    yield proposed
    for name in telling:
        if not _split_words(proposed) >= _split_words(name):
            yield f"{proposed} ({name})"
    yield from _number_names(proposed)


def _number_names(name: str) -> Iterator[str]:
    return (f"{name} ({number})" for number in count(2))


def _is_made_of(name: str, attributes: Sequence[str]) -> bool:
    """Tell whether a name is a phrase of some of these attributes."""
    found = [one for one in attributes if one in name]
    return any(join_names(chosen) == name for size in SIZES for chosen in permutations(found, size))


def _split_words(name: str) -> frozenset[str]:
    """Return the set of a name's words, by which names are compared."""
    found = frozenset(WORD.findall(normalize_name(name))) - {"and"}
    return found or frozenset([name])
