"""Attribute extraction: the attributes A_c of a client, and their changes.

A reasoner names the attributes of each line when it writes the line; here they are collected.

Source: RecNet 2.2.1, eq. 1.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from propagation.model import Attribute, Author, ClientText
from propagation.routing.policy import Arrival


def own_attributes(text: ClientText) -> dict[str, int]:
    """Collect A_c: the attributes that a client's own lines name.

    A line that reception wrote does not count: it is not the client's preference until an
    interaction confirms it.

    Returns:
        By name, the newest sequence that a line with it rests on (0: none).

    Source: RecNet eq. 1.
    """
    found: dict[str, int] = {}
    for line in text.profile.lines:
        if line.author == Author.RECEPTION:
            continue
        newest = max([source.sequence or 0 for source in line.sources], default=0)
        for name in line.attributes:
            if found.get(name, -1) < newest:
                found[name] = newest
    return dict(sorted(found.items()))


def changed_attributes(
    ref: int,
    version: int,
    own: Mapping[str, int],
    known: Sequence[str],
    after: int,
    canonical: Mapping[str, str],
) -> list[Arrival]:
    """List the attributes of a client that travel in a round.

    Args:
        version: Of the client's profile.
        own: As own_attributes returns them.
        known: Canonical names that the client had at the last round.
        after: The last round's boundary.
        canonical: Names that were mapped to another one, and to which.

    Returns:
        Attributes that are new, or that rest on an interaction after the boundary.
    """
    before = frozenset(known)
    return [
        Arrival(attribute=name, ref=ref, profile_version=version, sequence=newest)
        for name, newest in own.items()
        if newest > after or canonical.get(name, name) not in before
    ]


def recount_holders(
    attributes: Mapping[str, Attribute],
    before: Mapping[int, Sequence[str]],
    now: Mapping[int, Sequence[str]],
) -> dict[str, Attribute]:
    """Recount the holders of attributes that clients took up or dropped.

    Args:
        attributes: Those that are stored, by name.
        before: Names by client before the change.
        now: Names by client after it.
    """
    change: Counter[str] = Counter()
    for ref, names in now.items():
        change.update(set(names) - set(before[ref]))
        change.subtract(set(before[ref]) - set(names))
    counted = {}
    for name, difference in change.items():
        old = attributes.get(name) or Attribute(name=name)
        counted[name] = old.model_copy(update={"holders": old.holders + difference})
    return counted
