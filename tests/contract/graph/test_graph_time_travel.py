"""Time travel against a recorded history: whatever was read at a sequence is read of it later, down
to what retention keeps."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from propagation.model import ClientKind
from tests.contract.graph_store import (
    MAKERS,
    MARKED,
    TurnedClock,
    change,
    create_clients,
    edge,
    event,
    item,
    list_edges_at,
    message,
    run_round,
    text,
    user,
)

ROUTERS, REFS = range(3), (user(0), user(1), item(0), item(1))
TABLE = st.dictionaries(
    st.tuples(st.sampled_from(ROUTERS), st.sampled_from(REFS)), st.integers(1, 9)
)
ROUND = st.tuples(st.just("round"), st.sets(st.sampled_from(ROUTERS)), TABLE)
TEXT = st.tuples(st.just("text"), st.sampled_from(REFS), st.booleans())
EVENT = st.tuples(st.just("event"), st.sampled_from((0, 1)), st.integers(0, 2_000))
STEPS = st.lists(st.one_of(ROUND, TEXT, EVENT), min_size=1, max_size=9)


class History:
    """Does things to a store, and notes after each what a reader finds at the newest sequence."""

    def __init__(self, store, clock):
        self.store, self.clock = store, clock
        self.edges, self.sent, self.versions = (
            {},
            dict.fromkeys(ROUTERS, 0),
            dict.fromkeys(REFS, 0),
        )
        self.seen, self.times = {}, []

    async def do(self, step):
        kind, *what = step
        await getattr(self, kind)(*what)
        newest = await self.store.get_recorded_through()
        self.seen[newest] = await self.now()
        self.times.append((self.clock.ms, newest))

    async def event(self, who, later_ms):
        self.clock.ms += later_ms
        await self.store.record(
            [event(f"e{len(self.times)}", f"u{who}", f"i{who}")], auto_create=True
        )

    async def text(self, ref, titled):
        """A new version of the current sequence: written for an event of its own."""
        await self.event(ref >> 1, 1)
        if titled:
            name = f"{'ui'[ref & 1]}{ref >> 1}"
            await self.store.upsert_clients(
                [change(ClientKind(ref & 1), name, title=f"T{len(self.times)}")]
            )
        self.versions[ref] += 1
        written = text(ref, self.versions[ref], f"words {self.versions[ref]}")
        await self.store.commit_texts([written], [], await self.store.get_recorded_through())

    async def round(self, senders, table):
        self.clock.ms += 5
        closed = [pair for pair, score in self.edges.items() if table.get(pair) != score]
        opened = [
            edge(*pair, score / 10)  # type: ignore[call-arg]
            for pair, score in table.items()
            if self.edges.get(pair) != score
        ]
        for router in senders:
            self.sent[router] += 1
        await run_round(
            self.store,
            versions=tuple(
                message(router, self.sent[router], user(0)) for router in sorted(senders)
            ),
            closed=tuple(closed),
            opened=tuple(opened),
        )
        self.edges = table

    async def now(self):
        store = self.store
        texts = await store.load_texts(REFS)
        return {
            "members": {router: await store.get_members(router, 99) for router in ROUTERS},
            "counts": await store.count_members(ROUTERS),
            "routers": await store.get_router_versions(ROUTERS),
            "tables": await store.get_edges(REFS),
            "texts": {ref: text for ref, text in texts.items() if text.profile.version},
            "titles": [(client.ref, client.title) for client in await store.get_clients(REFS)],
        }

    async def then(self, at):
        store = self.store
        texts = {ref: await store.get_text_at(ref, at) for ref in REFS}
        known = {ref for ref, _ in self.seen[at]["titles"]}
        return {
            "members": {
                router: [_drop_end(one) for one in await store.get_members(router, 99, at)]
                for router in ROUTERS
            },
            "counts": await store.count_members(ROUTERS, at),
            "routers": await store.get_router_versions(ROUTERS, at),
            "tables": {
                ref: [_drop_end(one) for one in await list_edges_at(store, ref, at)] for ref in REFS
            },
            "texts": {ref: text for ref, text in texts.items() if text is not None},
            "titles": [
                (client.ref, client.title)
                for client in await store.get_clients(REFS, at)
                if client.ref in known
            ],
        }


def _drop_end(one):
    """As it looked while it stood."""
    return type(one)(
        router=one.router, ref=one.ref, score=one.score, from_sequence=one.from_sequence
    )


EXAMPLES = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}


@pytest.mark.parametrize("made", MARKED)
@given(steps=STEPS, kept=st.integers(0, 12))
@settings(max_examples=20, **EXAMPLES)
async def test_what_was_read_at_a_sequence_is_read_of_it_later(tmp_path_factory, made, steps, kept):
    clock = TurnedClock()
    store = MAKERS[made](tmp_path_factory.mktemp("past"), clock)
    await store.open()
    try:
        await create_clients(store, 2)
        history = History(store, clock)
        for step in steps:
            await history.do(step)
        newest = await store.get_recorded_through()
        for ms, sequence in history.times:
            at = await store.get_sequence_at(ms)
            assert at >= sequence
            assert at == max(known for when, known in history.times if when <= ms)
        before = min(kept, newest)
        while await store.prune(before, 3) is not None:
            pass
        assert await store.get_oldest_kept() == before
        for sequence, seen in history.seen.items():
            if sequence >= before:
                assert await history.then(sequence) == seen, sequence
    finally:
        await store.close()
