"""A generated town on a graph server; its events count as reasoned."""

from collections.abc import Iterator
from itertools import islice

from benchmarks.service.town import Town, pairs_of
from propagation.adapters.neo4j.store import Neo4jStore
from propagation.model import ClientChange, NewInteraction
from propagation.workflow.engine import Engine

PART = 4_000
REASONED = (
    "MATCH (i:Interaction) WHERE i.reasoned IS NULL CALL (i) { SET i.reasoned = "
    "i.sequence } IN TRANSACTIONS OF 10000 ROWS"
)
THROUGH = (
    "MATCH (p:Progress {name: 'reason'}) MATCH (l:Progress {name: 'log'}) SET p.through = "
    "l.sequence"
)


async def record_past(engine: Engine, town: Town, clients: Iterator[ClientChange]) -> None:
    """Record a town's clients and events, and mark the events as reasoned.

    The caller has to learn the events and to describe the clients.
    """
    while part := list(islice(clients, PART)):
        await engine.upsert_clients(part)
    pairs = pairs_of(town, town.interactions, town.seed).tolist()
    for start in range(0, len(pairs), PART):
        some = pairs[start : start + PART]
        await engine.record(
            [past_event(f"past-{start + place}", *pair) for place, pair in enumerate(some)]
        )
    assert isinstance(engine.store, Neo4jStore)
    await _mark_reasoned(engine.store)


def past_event(id_: str, user: int, item: int) -> NewInteraction:
    return NewInteraction(
        event_id=id_, user_id=f"u{user}", item_id=f"i{item}", time=0, content_hash=id_
    )


async def _mark_reasoned(store: Neo4jStore) -> None:
    """Mark all recorded events as reasoned: reasoning them would take hours."""
    from neo4j import AsyncGraphDatabase

    settings = store.database.settings
    async with (
        AsyncGraphDatabase.driver(
            settings.uri,
            auth=settings.credentials(),
            notifications_min_severity="OFF",
        ) as driver,
        driver.session() as session,
    ):
        for text in (REASONED, THROUGH):
            await (await session.run(text)).consume()
