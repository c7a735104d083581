"""Perception's bookkeeping in a round (RecNet 2.2.2): what changed clients hold now, in canonical
names, and what of it travels."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from propagation.model.clients.attribute import Attribute
from propagation.ports.embedder import Embedder, FittableEmbedder
from propagation.ports.graph.graph_store import GraphStore
from propagation.ports.vector_index import VectorIndex
from propagation.routing.attribute_extraction import arrivals_of, counted
from propagation.routing.canonical_attributes import canonical_names, in_canonical, words_likeness
from propagation.routing.perception import CentrePerception
from propagation.routing.policy import Arrival
from propagation.workflow.settings import WorkflowSettings
from propagation.workflow.views.client_texts import ClientTextCache, IndexedText
from propagation.workflow.views.numbers_owner import NumbersOwner


@dataclass(frozen=True)
class PerceivedAttributes:
    """What a round stages of attributes: rows to write, the canonical names each client holds now,
    the arrivals that travel, names that were mapped in this round, canonical names that are new,
    and clients that hold a newly mapped one."""

    rows: Sequence[Attribute]
    held: Mapping[int, Sequence[str]]
    arrivals: Sequence[Arrival]
    mapped: Mapping[str, str]
    fresh: Sequence[str]
    remapped: Sequence[IndexedText]


class AttributePerception:
    """Reads the graph and decides; the round writes."""

    def __init__(
        self,
        store: GraphStore,
        said: ClientTextCache[IndexedText],
        index: VectorIndex,
        embedder: Embedder,
        numbers: NumbersOwner,
        settings: WorkflowSettings,
    ) -> None:
        self._store = store
        self._said = said
        self._index = index
        self._embedder = embedder
        self._numbers = numbers
        self._settings = settings

    async def perceive(
        self, changed: Sequence[int], after: int, canonical: Mapping[str, str]
    ) -> PerceivedAttributes:
        """Eq. 1 for the clients that changed after a round's boundary. `canonical`: what was mapped
        before."""
        said = await self._said.newest(changed)
        held = await self._store.client_attributes(changed)
        raw = {ref: tuple(one.attributes) for ref, one in said.items()}
        arrived = await asyncio.to_thread(_arrived, said, held, after, canonical)
        known = await self._store.get_attributes(
            sorted({name for names in (*raw.values(), *held.values()) for name in names})
        )
        new = await asyncio.to_thread(self._in_order_of_sequence, arrived, known)
        mapped = await self._mapped(new)
        names = {**canonical, **mapped}
        now = await asyncio.to_thread(_in_canonical, raw, names)
        known = {
            **known,
            **await self._store.get_attributes(
                sorted({*names.values()} & {n for ns in now.values() for n in ns})
            ),
        }
        recounted = await asyncio.to_thread(counted, known, held, now)
        fresh = [name for name in new if name not in mapped]
        rows = [
            *(await self._placed(recounted, fresh)),
            *(Attribute(name=name, canonical=target) for name, target in mapped.items()),
        ]
        holders = {name: attribute.holders for name, attribute in {**known, **recounted}.items()}
        arrivals = await asyncio.to_thread(self._travelling, arrived, names, holders)
        return PerceivedAttributes(
            rows=rows,
            held=now,
            mapped=mapped,
            fresh=fresh,
            arrivals=arrivals,
            remapped=[said[ref] for ref in changed if not mapped.keys().isdisjoint(raw[ref])],
        )

    def _in_order_of_sequence(
        self, arrived: Mapping[int, Sequence[Arrival]], known: Mapping[str, Attribute]
    ) -> list[str]:
        """Names no round has seen, by the sequence they came with, then by client, then by name."""
        first = sorted(
            (arrival.sequence, ref, arrival.attribute)
            for ref, arrivals in arrived.items()
            for arrival in arrivals
        )
        return list(dict.fromkeys(name for _, _, name in first if name not in known))

    async def _mapped(self, new: Sequence[str]) -> dict[str, str]:
        if not new:
            return {}
        likeness = words_likeness if isinstance(self._embedder, FittableEmbedder) else None
        found = await canonical_names(
            self._index,
            new,
            await self._embedder.embed(new),
            self._settings.attribute_cosine,
            likeness,
        )
        return {name: target for name, target in found.items() if name != target}

    async def _placed(
        self, recounted: Mapping[str, Attribute], fresh: Sequence[str]
    ) -> list[Attribute]:
        """Each fresh attribute with the taste router it is nearest to."""
        places = CentrePerception(self._embedder, self._numbers.view.state.taste.centres)
        routers = dict(zip(fresh, await places.nearest(fresh), strict=True)) if fresh else {}
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
        """Arrivals under canonical names, each once a client, of attributes that enough distinct
        clients hold."""
        out: dict[tuple[int, str], Arrival] = {}
        for ref, arrivals in arrived.items():
            for arrival in arrivals:
                name = names.get(arrival.attribute, arrival.attribute)
                if holders.get(name, 0) < self._settings.min_support:
                    continue
                other = out.get((ref, name))
                if other is None or other.sequence < arrival.sequence:
                    out[ref, name] = replace(arrival, attribute=name)
        return list(out.values())


def _arrived(
    said: Mapping[int, IndexedText],
    held: Mapping[int, Sequence[str]],
    after: int,
    canonical: Mapping[str, str],
) -> dict[int, list[Arrival]]:
    """Of each client. Runs beside the loop: a round may have thousands of them."""
    return {
        ref: arrivals_of(ref, one.version, one.attributes, held[ref], after, canonical)
        for ref, one in said.items()
    }


def _in_canonical(
    raw: Mapping[int, Sequence[str]], names: Mapping[str, str]
) -> dict[int, tuple[str, ...]]:
    return {ref: in_canonical(said, names) for ref, said in raw.items()}
