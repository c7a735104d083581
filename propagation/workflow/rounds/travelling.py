"""Which attributes travel in a round, and which are held back.

An attribute travels once it is supported: `min_support` users hold it. An item's own attribute also
travels once it is public: `min_support` items have it in their catalogue texts. What was held back
travels in the first round in which this is so.
"""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from propagation.model import Attribute, ClientKind, get_kind, group_pairs
from propagation.ports import GraphStore
from propagation.routing import Arrival, PostponedArrivals, is_catalogue, list_supported_names
from propagation.workflow.index import ClientTextCache, IndexedText

FEW_HOLDERS = 64
Holders = dict[str, dict[int, IndexedText]]
"""Texts of the clients that hold an attribute, by attribute and ref."""


@dataclass(frozen=True)
class ChangedAttributes:
    """What a round knows of its changed clients' attributes.

    Attributes:
        texts: Texts of the changed clients, by ref.
        before: The canonical names that each of them had at the last round.
        arrived: Their new and changed attributes.
        names: The canonical name of each mapped name.
        known: Attributes as they were before the round.
        recounted: Attributes whose holders the round counted anew.
        least: How many users support an attribute, and how many items make it public.
    """

    texts: Mapping[int, IndexedText]
    before: Mapping[int, Sequence[str]]
    arrived: Mapping[int, Sequence[Arrival]]
    names: Mapping[str, str]
    known: Mapping[str, Attribute]
    recounted: Mapping[str, Attribute]
    least: int

    @cached_property
    def supported_before(self) -> frozenset[str]:
        """Attributes that enough users held before the round."""
        return list_supported_names(self.known, self.least)

    @cached_property
    def supported(self) -> frozenset[str]:
        """Attributes that enough users hold now."""
        return list_supported_names({**self.known, **self.recounted}, self.least)

    @cached_property
    def arrivals(self) -> Sequence[Arrival]:
        """The arrivals under their canonical names."""
        return [
            replace(arrival, attribute=self.names.get(arrival.attribute, arrival.attribute))
            for arrivals in self.arrived.values()
            for arrival in arrivals
        ]

    @cached_property
    def new_in_catalogue(self) -> Mapping[str, frozenset[int]]:
        """Items by the attributes that are new in their catalogue texts."""
        found = group_pairs(
            (arrival.attribute, arrival.ref)
            for arrival in self.arrivals
            if arrival.attribute not in self.before[arrival.ref]
            and _has_in_catalogue(self.texts[arrival.ref], arrival.attribute, self.names)
        )
        return {name: frozenset(refs) for name, refs in found.items()}

    @cached_property
    def possibly_public(self) -> frozenset[str]:
        """Attributes that new and earlier items together may make public."""
        return frozenset(
            name
            for name, items in self.new_in_catalogue.items()
            if name not in self.supported
            and (before := _count_items(self.known.get(name))) > 0
            and before + len(items) >= self.least
        )

    def find_travelling(self, holders: Holders) -> list[Arrival]:
        """Find the arrivals that travel now, each attribute of a client once.

        What earlier rounds held back comes last.

        Args:
            holders: Who held newly supported and possibly public attributes before the round.
        """
        earlier = {
            name: _find_catalogue_holders(found, name, self.names)
            - self.new_in_catalogue.get(name, frozenset())
            for name, found in holders.items()
        }
        public_before = {name for name, items in earlier.items() if len(items) >= self.least}
        public = {
            name
            for name, items in self.new_in_catalogue.items()
            if len(items | earlier.get(name, frozenset())) >= self.least
        }
        travelling = self._find_new(public)
        found = {(arrival.ref, arrival.attribute) for arrival in travelling}
        newly_supported = self.supported - self.supported_before
        newly_public = public - public_before - self.supported_before
        for name in self.known:
            for ref, text in holders.get(name, {}).items():
                newest = _find_sequence(text, name, self.names)
                if newest is None or (ref, name) in found:
                    continue
                if name in newly_supported:
                    if not (name in public_before and is_catalogue(ref, newest)):
                        travelling.append(Arrival(name, ref, text.version, newest))
                elif name in newly_public and ref in earlier[name]:
                    travelling.append(Arrival(name, ref, text.version, 0))
        return travelling

    def _find_new(self, public: Collection[str]) -> list[Arrival]:
        """Find the arrivals of this round that travel.

        What travels only because it is public rests on the catalogue alone.
        """
        travelling = group_pairs(
            (
                (arrival.ref, arrival.attribute),
                arrival if arrival.attribute in self.supported else replace(arrival, sequence=0),
            )
            for arrival in self.arrivals
            if arrival.attribute in self.supported
            or (
                arrival.attribute in public
                and arrival.ref in self.new_in_catalogue[arrival.attribute]
            )
        )
        return [max(found, key=lambda one: one.sequence) for found in travelling.values()]


@dataclass(frozen=True)
class TravelRule:
    """Decides which attributes travel, by those who hold them."""

    store: GraphStore
    texts: ClientTextCache[IndexedText]

    async def find_travelling(self, changed: ChangedAttributes) -> list[Arrival]:
        """Find the arrivals that travel in a round."""
        asked = await asyncio.to_thread(lambda: changed.possibly_public)
        newly_supported = changed.supported - changed.supported_before
        holders = await self._load_holders(newly_supported, changed.known)
        holders |= await self._load_enough_holders(
            asked, changed.known, changed.names, changed.least
        )
        return await asyncio.to_thread(changed.find_travelling, holders)

    async def keep_postponed(
        self,
        postponed: PostponedArrivals,
        counted: Mapping[str, Attribute],
        names: Mapping[str, str],
        least: int,
    ) -> PostponedArrivals:
        """Drop postponed arrivals that are neither supported nor public by now.

        Args:
            counted: The attributes that wait, as this round counts them.
            names: The canonical name of each mapped name.
            least: How many users support an attribute, and how many items make it public.
        """
        supported = list_supported_names(counted, least)
        asked = {
            arrival.attribute
            for group in postponed.groups.values()
            for arrival in group
            if is_catalogue(arrival.ref, arrival.sequence)
            and _count_items(counted.get(arrival.attribute)) >= least
        }
        holders = await self._load_enough_holders(asked - supported, counted, names, least)
        public = {
            name
            for name, found in holders.items()
            if len(_find_catalogue_holders(found, name, names)) >= least
        }
        return postponed.keep_only(
            lambda arrival: (
                arrival.attribute in supported
                or (arrival.attribute in public and is_catalogue(arrival.ref, arrival.sequence))
            )
        )

    async def _load_enough_holders(
        self,
        attributes: Collection[str],
        known: Mapping[str, Attribute],
        names: Mapping[str, str],
        least: int,
    ) -> Holders:
        """Load all holders of attributes, or enough to make them public."""
        few = await self._load_holders(attributes, known, FEW_HOLDERS)
        undecided = [
            name
            for name, found in few.items()
            if len(found) < known[name].holders
            and len(_find_catalogue_holders(found, name, names)) < least
        ]
        return few | await self._load_holders(undecided, known)

    async def _load_holders(
        self, attributes: Collection[str], known: Mapping[str, Attribute], limit: int | None = None
    ) -> Holders:
        """Load the texts of those who held attributes at the last round.

        Args:
            limit: The most holders of each attribute; None: all.
        """
        most = max((known[name].holders for name in attributes if name in known), default=0)
        if not most:
            return {}
        found = await self.store.get_holders(sorted(attributes), min(most, limit or most))
        texts = await self.texts.load_newest(
            sorted({ref for refs in found.values() for ref in refs})
        )
        return {name: {ref: texts[ref] for ref in refs} for name, refs in found.items()}


def _has_in_catalogue(text: IndexedText, name: str, names: Mapping[str, str]) -> bool:
    """Tell whether an item's catalogue text has an attribute."""
    return get_kind(text.ref) == ClientKind.ITEM and any(
        names.get(raw, raw) == name for raw in text.catalogue
    )


def _find_catalogue_holders(
    holders: Mapping[int, IndexedText], name: str, names: Mapping[str, str]
) -> frozenset[int]:
    return frozenset(ref for ref, text in holders.items() if _has_in_catalogue(text, name, names))


def _count_items(attribute: Attribute | None) -> int:
    """Count the items that hold an attribute."""
    return attribute.holders - attribute.users if attribute is not None else 0


def _find_sequence(text: IndexedText, name: str, names: Mapping[str, str]) -> int | None:
    """Find the newest sequence of an attribute in a text, or None."""
    return max(
        (newest for raw, newest in text.attributes.items() if names.get(raw, raw) == name),
        default=None,
    )
