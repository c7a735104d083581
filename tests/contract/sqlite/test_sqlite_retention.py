"""A run of retention looks at what changed since the last one, however much is stored."""

from propagation.adapters.sqlite.store import SqliteStore
from propagation.model import ClientKind, EntryKind, MessageMerge, Withdrawal
from tests.contract.graph_store import (
    TurnedClock,
    change,
    checkpoint,
    learn_all,
    message,
    record_pairs,
    run_round,
    text,
    user,
    withdraw,
)

INSTRUCTIONS_A_CALL = 10
HEARD_BY_ONE = 9_999


async def prune(store):
    before = await store.get_recorded_through()
    while await store.prune(before, 100) is not None:
        pass


async def count_instructions(folder, idle):
    """Virtual machine instructions, in tens, of a run after one client changed its text; `idle`
    others have texts, which cite a message each."""
    store = SqliteStore(folder, TurnedClock())
    await store.open()
    try:
        await store.upsert_clients([change(ClientKind.USER, f"u{n}") for n in range(idle + 1)])
        for router in range(idle // 10):
            await run_round(store, versions=(message(router, 1, user(0)),))
        await run_round(store, versions=(message(HEARD_BY_ONE, 1, user(1)),))
        await run_round(store, versions=(message(HEARD_BY_ONE, 2, user(1)),))
        [first] = await record_pairs(store, ("u0", "i0"))
        cited = {user(n): (n % (idle // 10), 1) for n in range(1, idle + 1)}
        cited[user(0)] = (HEARD_BY_ONE, 1)
        merges = [MessageMerge(ref, 1, *key, "merged") for ref, key in cited.items()]
        await store.commit_texts(
            [text(ref, 1, cites=key) for ref, key in cited.items()], merges, first
        )
        await prune(store)
        assert await store.get_router_version(HEARD_BY_ONE, 1) is not None, "a text cites it"
        [later] = await record_pairs(store, ("u0", "i0"))
        await store.commit_texts([text(user(0), 2)], [], later)
        ran = []
        readers = [store.database._on_loop, *store.database._by_thread.values()]
        connections = [reader._connection for reader in readers if reader._connection]
        await store.database.write(connections.append)
        for connection in connections:
            connection.set_progress_handler(lambda: ran.append(1), INSTRUCTIONS_A_CALL)
        await prune(store)
        assert await store.get_router_version(HEARD_BY_ONE, 1) is None, "the text has ended"
        return len(ran)
    finally:
        await store.close()


async def test_a_run_takes_as_long_with_many_idle_clients_as_with_few(tmp_path):
    few = await count_instructions(tmp_path / "few.db", 200)
    many = await count_instructions(tmp_path / "many.db", 3_200)
    assert few > 0
    assert many < 1.5 * few, f"{few} with 200 idle clients, {many} with 3,200"


async def test_what_a_forgotten_client_cited_is_not_counted_any_more(tmp_path):
    store = SqliteStore(tmp_path / "graph.db", TurnedClock())
    await store.open()
    try:
        await store.upsert_clients([change(ClientKind.USER, "u0"), change(ClientKind.USER, "u1")])
        for version in (1, 2):
            await run_round(store, versions=(message(HEARD_BY_ONE, version, user(1)),))
        [first] = await record_pairs(store, ("u0", "i0"))
        key = (HEARD_BY_ONE, 1)
        merge = MessageMerge(user(0), 1, *key, "merged")
        await store.commit_texts([text(user(0), 1, cites=key)], [merge], first)
        await prune(store)
        assert await store.get_router_version(*key) is not None, "a text cites it"
        await learn_all(store)
        rows = await store.get_interactions_of_clients([user(0)])
        lease = await store.acquire_lease("learn", "test", 10_000)
        erasure = Withdrawal(EntryKind.ERASURE, (user(0),), rows, erased=user(0))
        await withdraw(store, lease, erasure, checkpoint(first, barrier=True))
        await record_pairs(store, ("u1", "i1"))
        await prune(store)
        assert await store.get_router_version(*key) is None
    finally:
        await store.close()
