"""Perception (RecNet 2.2.2, eq. 1 and 2): which attributes are new or changed, and where they go."""

from collections.abc import Mapping, Sequence

from propagation.model.clients.attribute import Attribute
from propagation.model.clients.client_text import ClientText
from propagation.model.clients.profile import Author
from propagation.routing.policy import Arrival


def own_attributes(text: ClientText) -> dict[str, int]:
    """A_c (eq. 1) of what a client says itself, by name, each with the newest sequence a line that
    says so rests on (0: none); what it only heard is not its preference until it acts on it."""
    found: dict[str, int] = {}
    for line in text.profile.lines:
        if line.author == Author.RECEPTION:
            continue
        newest = max([source.sequence or 0 for source in line.sources], default=0)
        for name in line.attributes:
            if found.get(name, -1) < newest:
                found[name] = newest
    return dict(sorted(found.items()))


def arrivals_of(
    ref: int,
    version: int,
    own: Mapping[str, int],
    held: Sequence[str],
    after: int,
    canonical: Mapping[str, str],
) -> list[Arrival]:
    """Of a client's own attributes at a profile version those that are new against `held`
    (canonical names), or that rest on an interaction after the last round's boundary."""
    before = frozenset(held)
    return [
        Arrival(attribute=name, ref=ref, profile_version=version, sequence=newest)
        for name, newest in own.items()
        if newest > after or canonical.get(name, name) not in before
    ]


def counted(
    attributes: Mapping[str, Attribute],
    held: Mapping[int, Sequence[str]],
    now: Mapping[int, Sequence[str]],
) -> dict[str, Attribute]:
    """Attributes with their holders recounted: who holds them now less who held them before."""
    change: dict[str, int] = {}
    for ref, names in now.items():
        for name in set(names) - set(held[ref]):
            change[name] = change.get(name, 0) + 1
        for name in set(held[ref]) - set(names):
            change[name] = change.get(name, 0) - 1
    out = {}
    for name, difference in change.items():
        old = attributes.get(name) or Attribute(name=name)
        out[name] = old.model_copy(update={"holders": old.holders + difference})
    return out
