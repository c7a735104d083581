"""Perception in a round (RecNet 2.2.2): which attributes travel where.

Attributes of changed clients are extracted (eq. 1), then each goes to a router (eq. 2).
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from propagation.model import Attribute, group_pairs
from propagation.ports import Embedder, FittableEmbedder, GraphStore, VectorIndex
from propagation.routing import (
    Arrival,
    CentrePerception,
    Perception,
    PostponedArrivals,
    find_canonical_names,
    find_changed_attributes,
    measure_words_likeness,
    recount_holders,
    to_canonical,
)
from propagation.workflow.index import ClientTextCache, IndexedText
from propagation.workflow.rounds.travelling import ChangedAttributes, TravelRule
from propagation.workflow.settings import WorkflowSettings
from propagation.workflow.views import NumbersOwner


@dataclass(frozen=True)
class PerceivedAttributes:
    """The result of perception in a round.

    Attributes:
        rows: Attributes to write.
        by_client: The canonical names that each changed client now has.
        arrivals: The attributes that travel in this round.
        mapped: The canonical name of each name that this round mapped.
        new: Canonical names that are new.
        remapped: Texts of clients that hold a newly mapped name.
    """

    rows: Sequence[Attribute]
    by_client: Mapping[int, Sequence[str]]
    arrivals: Sequence[Arrival]
    mapped: Mapping[str, str]
    new: Sequence[str]
    remapped: Sequence[IndexedText]


@dataclass
class AttributePerception:
    """Perceives attributes in the graph; the round writes the results.

    Long computations run in a thread.
    """

    store: GraphStore
    texts: ClientTextCache[IndexedText]
    index: VectorIndex
    embedder: Embedder
    numbers: NumbersOwner
    settings: WorkflowSettings

    async def extract(
        self, clients: Sequence[int], after: int, canonical: Mapping[str, str]
    ) -> PerceivedAttributes:
        """Extract the attributes of the clients that changed.

        Args:
            clients: Refs of the clients that changed after `after`.
            after: The last round's boundary, a sequence.
            canonical: The canonical name of each name that earlier rounds mapped.

        Source: RecNet eq. 1; Algorithm 1, line 17.
        """
        texts = await self.texts.load_newest(clients)
        before = await self.store.get_client_attributes(clients)
        arrived = await asyncio.to_thread(_list_arrivals, texts, before, after, canonical)
        known = await self._load(
            _names(before.values()) | _names(text.attributes for text in texts.values())
        )
        unseen = await asyncio.to_thread(_find_unseen_names, arrived, known)
        mapped = await self._map_to_canonical(unseen)
        names = {**canonical, **mapped}
        now = await asyncio.to_thread(
            lambda: {ref: to_canonical(text.attributes, names) for ref, text in texts.items()}
        )
        known |= await self._load({*names.values()} & _names(now.values()))
        recounted = await asyncio.to_thread(recount_holders, known, before, now)
        new = [name for name in unseen if name not in mapped]
        travelling = await self._rule.find_travelling(
            ChangedAttributes(
                texts, before, arrived, names, known, recounted, self.settings.min_support
            )
        )
        return PerceivedAttributes(
            rows=[
                *await self._with_routers(recounted, new),
                *(Attribute(name=name, canonical=target) for name, target in mapped.items()),
            ],
            by_client=now,
            arrivals=travelling,
            mapped=mapped,
            new=new,
            remapped=[
                texts[ref] for ref in clients if not mapped.keys().isdisjoint(texts[ref].attributes)
            ],
        )

    def perceive_by_centres(self) -> CentrePerception:
        """Perceive by the taste routers' centres.

        The first round of a bootstrap does so, because there are no router profiles yet.
        """
        return CentrePerception(self.embedder, self.numbers.view.state.taste.centres)

    async def _load(self, names: set[str]) -> dict[str, Attribute]:
        return dict(await self.store.get_attributes(sorted(names)))

    async def _map_to_canonical(self, names: Sequence[str]) -> dict[str, str]:
        """Map new names to known attributes that mean the same.

        Names without such an attribute are left out.
        """
        likeness = measure_words_likeness if isinstance(self.embedder, FittableEmbedder) else None
        found = await find_canonical_names(
            self.index,
            names,
            await self.embedder.embed(names),
            self.settings.attribute_cosine,
            likeness,
        )
        return {name: target for name, target in found.items() if name != target}

    async def _with_routers(
        self, recounted: Mapping[str, Attribute], new: Sequence[str]
    ) -> list[Attribute]:
        """Give each new attribute the taste router of its nearest centre."""
        routers = await self.perceive_by_centres().find_routers_of(new)
        return [
            attribute.model_copy(update={"router": next(iter(routers[name]), None)})
            if name in routers
            else attribute
            for name, attribute in recounted.items()
        ]

    async def keep_postponed(
        self,
        postponed: PostponedArrivals,
        rows: Sequence[Attribute],
        canonical: Mapping[str, str],
    ) -> PostponedArrivals:
        """Drop postponed arrivals that may not travel by now.

        Args:
            rows: Attributes as this round counts them.
            canonical: The canonical name of each mapped name.
        """
        waiting = {arrival.attribute for group in postponed.groups.values() for arrival in group}
        counted = await self._load(waiting) | {row.name: row for row in rows}
        return await self._rule.keep_postponed(
            postponed, counted, canonical, self.settings.min_support
        )

    @property
    def _rule(self) -> TravelRule:
        return TravelRule(self.store, self.texts)


async def assign_to_routers(
    arrivals: Sequence[Arrival], postponed: PostponedArrivals, epoch: int, perception: Perception
) -> dict[int, list[Arrival]]:
    """Group this round's arrivals, and the postponed ones, by router.

    Postponed arrivals stay at the router where they wait; if an epoch has begun since, they are
    perceived again. If a client's attribute arrives a second time, only the newer arrival counts.
    """
    waiting = postponed.groups
    if postponed.epoch != epoch:
        earlier = [arrival for group in waiting.values() for arrival in group]
        arrivals = _keep_newest([*earlier, *arrivals])
        waiting = {}
    groups = group_pairs(
        (router, arrival)
        for arrival, targets in zip(arrivals, await perception.perceive(arrivals), strict=True)
        for router in targets
    )
    for router, group in waiting.items():
        groups[router] = _keep_newest([*group, *groups.get(router, ())])
    return dict(sorted(groups.items()))


def _keep_newest(arrivals: Sequence[Arrival]) -> list[Arrival]:
    """Keep the last arrival of each attribute of each client."""
    return list({(arrival.attribute, arrival.ref): arrival for arrival in arrivals}.values())


def _list_arrivals(
    texts: Mapping[int, IndexedText],
    before: Mapping[int, Sequence[str]],
    after: int,
    canonical: Mapping[str, str],
) -> dict[int, list[Arrival]]:
    """List what changed in each client's attributes since the last round.

    Args:
        before: The canonical names that each client had at the last round.
    """
    return {
        ref: find_changed_attributes(
            ref, text.version, text.attributes, before[ref], after, canonical
        )
        for ref, text in texts.items()
    }


def _names(groups: Iterable[Iterable[str]]) -> set[str]:
    return {name for names in groups for name in names}


def _find_unseen_names(
    arrived: Mapping[int, Sequence[Arrival]], known: Mapping[str, Attribute]
) -> list[str]:
    """List names that no round has seen.

    The names are ordered by the sequence of their arrival, then by client, then by name.
    """
    ordered = sorted(
        (arrival.sequence, ref, arrival.attribute)
        for ref, arrivals in arrived.items()
        for arrival in arrivals
    )
    return list(dict.fromkeys(name for _, _, name in ordered if name not in known))
