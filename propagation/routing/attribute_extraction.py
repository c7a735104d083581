"""Attribute extraction: the attributes A_c of a client, and their changes.

A reasoner names the attributes of each line when it writes the line: by Prompt_extract
(adapters/openai/prompts/extract.py), or without a language model (adapters/offline/extract.py).
This module collects them.

Source: RecNet 2.2.1, eq. 1.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from propagation.model import Attribute, Author, ClientKind, ClientText, get_kind
from propagation.routing.policy import Arrival


def list_own_attributes(text: ClientText) -> dict[str, int]:
    """Collect A_c: the attributes that a client's own lines name.

    A line that reception wrote does not count: it is not the client's preference until an
    interaction confirms it.

    Returns:
        By name, the newest sequence on which a line with the attribute rests (0: none).

    Source: RecNet eq. 1.
    """
    found: dict[str, int] = {}
    for line in text.profile.lines:
        if line.author is not Author.RECEPTION:
            newest = max([source.sequence or 0 for source in line.sources], default=0)
            for name in line.attributes:
                found[name] = max(newest, found.get(name, 0))
    return dict(sorted(found.items()))


def list_catalogue_attributes(text: ClientText) -> frozenset[str]:
    """Collect the attributes that a client's own description names."""
    return frozenset[str]().union(
        *[line.attributes for line in text.profile.lines if line.author is Author.CATALOGUE]
    )


def is_catalogue(ref: int, sequence: int) -> bool:
    """Tell whether an attribute comes from the catalogue alone.

    An item's description is public; a user's description is private.

    Args:
        ref: The client that has the attribute.
        sequence: The newest interaction that it rests on; 0: none.
    """
    return sequence == 0 and get_kind(ref) == ClientKind.ITEM


def find_changed_attributes(
    ref: int,
    version: int,
    own: Mapping[str, int],
    known: Sequence[str],
    after: int,
    canonical: Mapping[str, str],
) -> list[Arrival]:
    """List the attributes of a client that a round sends to routers.

    Args:
        version: Version of the client's profile.
        own: As list_own_attributes returns them.
        known: Canonical names that the client had at the last round.
        after: The last round's boundary.
        canonical: Canonical name by mapped name.

    Returns:
        Attributes that are new, or that rest on an interaction after the boundary.
    """
    before = frozenset(known)
    return [
        Arrival(attribute=name, ref=ref, profile_version=version, sequence=newest)
        for name, newest in own.items()
        if newest > after or canonical.get(name, name) not in before
    ]


def list_supported_names(attributes: Mapping[str, Attribute], least: int) -> frozenset[str]:
    """Return the attributes that at least `least` users hold."""
    return frozenset(name for name, one in attributes.items() if one.users >= least)


def recount_holders(
    attributes: Mapping[str, Attribute],
    before: Mapping[int, Sequence[str]],
    now: Mapping[int, Sequence[str]],
) -> dict[str, Attribute]:
    """Recount the holders of attributes that clients took up or dropped.

    Args:
        attributes: The stored attributes, by name.
        before: Names by client (ref) before the change.
        now: Names by client after the change.
    """
    holders: Counter[str] = Counter()
    users: Counter[str] = Counter()
    for ref, names in now.items():
        for count in (holders, users) if get_kind(ref) == ClientKind.USER else (holders,):
            count.update(set(names) - set(before[ref]))
            count.subtract(set(before[ref]) - set(names))
    counted = {}
    for name, difference in holders.items():
        old = attributes.get(name) or Attribute(name=name)
        counts = {"holders": old.holders + difference, "users": old.users + users[name]}
        counted[name] = old.model_copy(update=counts)
    return counted
