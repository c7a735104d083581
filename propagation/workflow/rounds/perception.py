"""Perception in a round (RecNet 2.2.2): which attributes of changed clients travel."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from propagation.model import Attribute
from propagation.ports import Embedder, FittableEmbedder, GraphStore, VectorIndex
from propagation.routing import (
    Arrival,
    CentrePerception,
    canonical_names,
    changed_attributes,
    recount_holders,
    to_canonical,
    words_likeness,
)
from propagation.workflow.index.client_texts import ClientTextCache, IndexedText
from propagation.workflow.rounds.trigger import PendingChanges
from propagation.workflow.settings import WorkflowSettings
from propagation.workflow.views import NumbersOwner


@dataclass(frozen=True)
class PerceivedAttributes:
    """What a round finds out about attributes.

    rows: Attributes to write. held: The canonical names that each changed client holds now.
    arrivals: What travels. mapped: Names that this round mapped to a canonical one. new: Canonical
    names that are new. remapped: Texts of clients that hold a newly mapped name.
    """

    rows: Sequence[Attribute]
    held: Mapping[int, Sequence[str]]
    arrivals: Sequence[Arrival]
    mapped: Mapping[str, str]
    new: Sequence[str]
    remapped: Sequence[IndexedText]


@dataclass(frozen=True)
class _Changed:
    """Changed clients: their texts, and the canonical names that they held at the last round."""

    texts: Mapping[int, IndexedText]
    held: Mapping[int, Sequence[str]]

    def arrivals(self, after: int, canonical: Mapping[str, str]) -> dict[int, list[Arrival]]:
        return {
            ref: changed_attributes(
                ref, text.version, text.attributes, self.held[ref], after, canonical
            )
            for ref, text in self.texts.items()
        }

    def canonical(self, names: Mapping[str, str]) -> dict[int, tuple[str, ...]]:
        """Name each client's attributes by these canonical names."""
        return {ref: to_canonical(text.attributes, names) for ref, text in self.texts.items()}


@dataclass
class AttributePerception:
    """Reads the graph and decides; the round writes. Long computations run in a thread."""

    store: GraphStore
    texts: ClientTextCache[IndexedText]
    index: VectorIndex
    embedder: Embedder
    numbers: NumbersOwner
    settings: WorkflowSettings

    async def extract(
        self, pending: PendingChanges, canonical: Mapping[str, str]
    ) -> PerceivedAttributes:
        """Extract the attributes of the clients that changed.

        Args:
            canonical: Names that earlier rounds mapped, and to which.

        Source: RecNet eq. 1; Algorithm 1, line 17.
        """
        changed = _Changed(
            await self.texts.load_newest(pending.clients),
            await self.store.client_attributes(pending.clients),
        )
        arrived = await asyncio.to_thread(changed.arrivals, pending.after, canonical)
        known = await self._stored(
            {
                *_names(text.attributes for text in changed.texts.values()),
                *_names(changed.held.values()),
            }
        )
        unseen = await asyncio.to_thread(_unseen_names, arrived, known)
        mapped = await self._map_to_canonical(unseen)
        names = {**canonical, **mapped}
        held = await asyncio.to_thread(changed.canonical, names)
        known |= await self._stored({*names.values()} & _names(held.values()))
        recounted = await asyncio.to_thread(recount_holders, known, changed.held, held)
        new = [name for name in unseen if name not in mapped]
        holders = {name: attribute.holders for name, attribute in (known | recounted).items()}
        return PerceivedAttributes(
            rows=[
                *await self._with_routers(recounted, new),
                *(Attribute(name=name, canonical=target) for name, target in mapped.items()),
            ],
            held=held,
            arrivals=await asyncio.to_thread(self._travelling, arrived, names, holders),
            mapped=mapped,
            new=new,
            remapped=[
                changed.texts[ref]
                for ref in pending.clients
                if not mapped.keys().isdisjoint(changed.texts[ref].attributes)
            ],
        )

    def by_centres(self) -> CentrePerception:
        """Perceive by the taste routers' centres: in a bootstrap's first round, before profiles."""
        return CentrePerception(self.embedder, self.numbers.view.state.taste.centres)

    async def _stored(self, names: set[str]) -> dict[str, Attribute]:
        return dict(await self.store.get_attributes(sorted(names)))

    async def _map_to_canonical(self, names: Sequence[str]) -> dict[str, str]:
        """Map new names to the attributes that mean the same; those without one are left out."""
        if not names:
            return {}
        likeness = words_likeness if isinstance(self.embedder, FittableEmbedder) else None
        vectors = await self.embedder.embed(names)
        found = await canonical_names(
            self.index, names, vectors, self.settings.attribute_cosine, likeness
        )
        return {name: target for name, target in found.items() if name != target}

    async def _with_routers(
        self, recounted: Mapping[str, Attribute], new: Sequence[str]
    ) -> list[Attribute]:
        """Give each new attribute the taste router of its nearest centre."""
        routers = dict(zip(new, await self.by_centres().nearest(new), strict=True)) if new else {}
        return [
            attribute.model_copy(update={"router": routers[name]}) if name in routers else attribute
            for name, attribute in recounted.items()
        ]

    def _travelling(
        self,
        arrived: Mapping[int, Sequence[Arrival]],
        names: Mapping[str, str],
        holders: Mapping[str, int],
    ) -> list[Arrival]:
        """Name arrivals canonically, each once a client; leave out what too few clients hold."""
        newest: dict[tuple[int, str], Arrival] = {}
        for ref, arrivals in arrived.items():
            for arrival in arrivals:
                name = names.get(arrival.attribute, arrival.attribute)
                if holders.get(name, 0) < self.settings.min_support:
                    continue
                other = newest.get((ref, name))
                if other is None or other.sequence < arrival.sequence:
                    newest[ref, name] = replace(arrival, attribute=name)
        return list(newest.values())


def _names(groups: Iterable[Iterable[str]]) -> set[str]:
    return {name for names in groups for name in names}


def _unseen_names(
    arrived: Mapping[int, Sequence[Arrival]], known: Mapping[str, Attribute]
) -> list[str]:
    """List names that no round has seen, by the sequence they came with, then client, then name."""
    ordered = sorted(
        (arrival.sequence, ref, arrival.attribute)
        for ref, arrivals in arrived.items()
        for arrival in arrivals
    )
    return list(dict.fromkeys(name for _, _, name in ordered if name not in known))
