"""Stores and small makers of rows for the graph store's contract.

To test another adapter, add a function to `MAKERS` that makes an unopened store from a folder and a
clock. If the adapter needs a server, name the marker of its cases in `MARKS`.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from propagation.adapters.neo4j.store import Neo4jStore
from propagation.adapters.sqlite.store import SqliteStore
from propagation.model import (
    Checkpoint,
    ClientChange,
    ClientKey,
    ClientKind,
    ClientText,
    Gradient,
    IntegratedAttribute,
    InteractionRow,
    LearnedBlock,
    Line,
    MessageMerge,
    Module,
    NewInteraction,
    Profile,
    ReasonedInteraction,
    RouterVersion,
    RoutingEdge,
    Source,
    compute_ref,
)
from propagation.ports import GraphStore
from tests.neo4j_server.shared import get_server

STRANGE = [
    "Ünïcødé 音楽 🎷",
    "two\nlines\tand a tab",
    "'; DROP TABLE client; --",
    '"}) DETACH DELETE n //',
    "\\u0000 spelled out",
    "e\u0301 is not é",
    "\u202eright to left",
    "\uffff",
    "a" * 256,
    " ",
    "[1,2]",
    '{"a":1}',
    "null",
    "0",
]


class TurnedClock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.ms = 1_700_000_000_000

    def now_ms(self) -> int:
        return self.ms


def make_sqlite_store(folder: Path, clock: TurnedClock) -> GraphStore:
    return SqliteStore(folder / "graph.db", clock)


def make_neo4j_store(folder: Path, clock: TurnedClock) -> GraphStore:
    return Neo4jStore(get_server(folder).settings, clock)


MAKERS: dict[str, Callable[[Path, TurnedClock], GraphStore]] = {
    "sqlite": make_sqlite_store,
    "neo4j": make_neo4j_store,
}
MARKS = {"neo4j": [pytest.mark.neo4j]}
MARKED = [pytest.param(name, marks=MARKS.get(name, [])) for name in MAKERS]


def user(index: int) -> int:
    return compute_ref(ClientKind.USER, index)


def item(index: int) -> int:
    return compute_ref(ClientKind.ITEM, index)


def change(kind: ClientKind, id_: str, **fields: object) -> ClientChange:
    return ClientChange(key=ClientKey(kind=kind, id=id_), **fields)


def event(
    event_id: str, user_id: str = "u0", item_id: str = "i0", content: str = "same", **fields: object
) -> NewInteraction:
    return NewInteraction(
        event_id=event_id,
        user_id=user_id,
        item_id=item_id,
        content_hash=content,
        **{"time": 1_000, **fields},
    )


async def create_clients(store: GraphStore, count: int = 5) -> None:
    """Create users u0, u1 and so on, and as many items."""
    await store.upsert_clients(
        [change(kind, f"{kind.name[0].lower()}{n}") for kind in ClientKind for n in range(count)]
    )


async def record_pairs(store: GraphStore, *pairs: tuple[str, str]) -> list[int]:
    """Record a new event for each (user, item); return the sequences."""
    before = await store.get_recorded_through()
    answer = await store.record(
        [event(f"e{before}-{place}", *pair) for place, pair in enumerate(pairs)], auto_create=True
    )
    return [outcome.sequence for outcome in answer.outcomes]


async def find_event(store: GraphStore, event_id: str) -> InteractionRow | None:
    """Return the recorded interaction with an event id, or None."""
    (state,) = await store.get_event_states([event_id])
    return state.interaction


def block(
    after: int, through: int, sequences: list[int], *, epoch: int = 0, seed: int = 0, k: int = 4
) -> LearnedBlock:
    """Make a learned block of random numbers over these interactions."""
    draw, size = np.random.default_rng(seed), len(sequences)
    return LearnedBlock(
        after=after,
        through=through,
        epoch=epoch,
        sequence=np.array(sequences, np.int64),
        negatives=draw.integers(0, 3, (size, 4)).astype(np.int32),
        scores=draw.random((size, 2), np.float32),
        profile_cosines=draw.random((size, 5), np.float32),
        routers=draw.integers(0, k, (size, 2, 16)).astype(np.uint16),
        weights=draw.random((size, 2, 16), np.float32),
        trust=draw.random((size, 2, k), np.float32),
        combiner=draw.random(7),
    )


async def learn_all(store: GraphStore) -> None:
    """Commit one block over everything that is recorded and not yet learned."""
    after, through = await store.get_learned_through(), await store.get_recorded_through()
    lease = await store.acquire_lease("learn", "test", 10_000)
    part = await store.read_log(after, through - after)
    await store.commit_learned(lease, block(after, through, part.interactions.sequence.tolist()))


def checkpoint(
    sequence: int, *, barrier: bool = False, epoch: int = 0, rows: int = 3
) -> Checkpoint:
    return Checkpoint(
        sequence=sequence,
        epoch=epoch,
        barrier=barrier,
        arrays={
            "mass": np.full((rows, 2), sequence, np.float32),
            "clock": np.arange(4),
            "nothing": np.zeros((0, 3), np.float32),
            "flags": np.array([True, False]),
        },
    )


def text(
    ref: int,
    version: int,
    words: str = "likes jazz",
    *,
    watermark: int = 0,
    cites: tuple[int, int] | None = None,
    weight: float = 0.1 + 0.2,
) -> ClientText:
    source = Source(sequence=1) if cites is None else Source(router=cites[0], version=cites[1])
    line = Line(id=1, text=words, attributes=("jazz",), weight=weight, sources=(source,))
    return ClientText(
        profile=Profile(ref=ref, version=version, lines=(line,), next_id=2), watermark=watermark
    )


def gradient(sequence: int, owner: int, module: Module = Module.ROUTER) -> Gradient:
    return Gradient(
        sequence=sequence,
        module=module,
        owner=owner,
        writer=user(0),
        reward=1,
        text="keep 'jazz'",
        attributes=("jazz",),
    )


def reasoned_interaction(
    sequence: int, *texts: ClientText, **fields: object
) -> ReasonedInteraction:
    return ReasonedInteraction(**{"sequence": sequence, "user": user(0), "texts": texts, **fields})


def message(router: int, version: int, *senders: int, words: str = "more jazz") -> RouterVersion:
    return RouterVersion(
        router=router,
        version=version,
        round=0,
        epoch=1,
        name="Jazz",
        text=words,
        attributes=("jazz",),
        standing=(("jazz", 0.3),),
        integrated=tuple(
            IntegratedAttribute(attribute="jazz", ref=ref, profile_version=1, sequence=1)
            for ref in senders
        ),
    )


def edge(router: int, ref: int, score: float = 0.5) -> RoutingEdge:
    return RoutingEdge(router=router, ref=ref, score=score, from_sequence=0)


async def withdraw(store: GraphStore, lease, withdrawal, barrier: Checkpoint):
    """Withdraw with this barrier checkpoint; return the store's answer.

    An erasure takes the items that only its events named.
    """
    if withdrawal.erased is not None:
        orphans = await store.find_orphans(withdrawal.erased)
        withdrawal = replace(withdrawal, orphans=tuple(orphans))
    return await store.withdraw(lease, withdrawal, await store.stage_checkpoint(lease, barrier))


async def run_round(
    store: GraphStore,
    *,
    versions: tuple[RouterVersion, ...] = (),
    closed: tuple[tuple[int, int], ...] = (),
    opened: tuple[RoutingEdge, ...] = (),
    publish: bool = True,
    boundary: int = 0,
):
    """Run a whole round.

    Args:
        publish: If False, the round is only staged.

    Returns:
        The published round, or the round that was begun.
    """
    lease = await store.acquire_lease("round", "test", 60_000)
    round_ = await store.begin_round(lease, boundary)
    await store.stage_routers(lease, round_, versions)
    await store.stage_edges(lease, round_, closed, opened)
    counted = round_.model_copy(update={"touched": len(versions), "edges_opened": len(opened)})
    return await store.publish_round(lease, counted) if publish else round_


async def list_edges_at(store: GraphStore, ref: int, sequence: int) -> list[RoutingEdge]:
    """List a client's edges at a sequence, by descending score, then router."""
    edges = [
        edge
        for router in range(12)
        for edge in await store.get_members(router, 99, sequence)
        if edge.ref == ref
    ]
    return sorted(edges, key=lambda edge: (-edge.score, edge.router))


async def list_merges(store: GraphStore, ref: int) -> list[MessageMerge]:
    """List the messages that a client merged or dropped, oldest first."""
    merges = await store.get_merges_after(0, await store.get_merges_through(), 999)
    return [one.merge for one in merges if one.merge.ref == ref]
