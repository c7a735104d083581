"""What only a server can suffer: strangers, wrong passwords, other versions, lost indexes, and
being away."""

import asyncio
import shutil

import pytest
from pydantic import SecretStr

from propagation.adapters.neo4j.connection import check_version, load_schema_steps, schema
from propagation.adapters.neo4j.settings import Neo4jSettings
from propagation.adapters.neo4j.store import Neo4jStore
from propagation.model import (
    ClientKind,
    SchemaTooNew,
    StoreBusy,
    StoreForeign,
    StoreRefused,
    StoreUnreachable,
    StoreUnsupported,
)
from tests.contract.graph_store import (
    TurnedClock,
    change,
    create_clients,
    event,
    item,
    learn_all,
    reasoned_interaction,
    record_pairs,
    text,
    user,
)
from tests.neo4j_server.shared import get_server


@pytest.fixture
def server(tmp_path):
    return get_server(tmp_path)


async def open_and_close(settings):
    store = Neo4jStore(settings, TurnedClock())
    await store.open()
    await store.close()


def list_indexes(server):
    return sorted(name for (name,) in server.run("SHOW INDEXES YIELD name"))


@pytest.mark.neo4j
async def test_somebody_elses_database_is_left_alone(server):
    server.run("CREATE (:Theirs {id: 1})-[:KNOWS]->(:Theirs {id: 2})")
    server.run("DROP CONSTRAINT client_ref IF EXISTS")
    before = list_indexes(server)
    with pytest.raises(StoreForeign, match="another application"):
        await open_and_close(server.settings)
    assert server.run("MATCH (n) RETURN labels(n), n.id ORDER BY n.id") == [
        [["Theirs"], 1],
        [["Theirs"], 2],
    ]
    assert list_indexes(server) == before


@pytest.mark.neo4j
async def test_a_lost_index_is_made_again(server):
    await open_and_close(server.settings)
    before = list_indexes(server)
    server.run("DROP INDEX message_of_round")
    await open_and_close(server.settings)
    assert list_indexes(server) == before


@pytest.mark.neo4j
async def test_relationships_are_not_indexed_by_type(server):
    """No statement asks for them (test_neo4j_plans.py), and recording would pay for it."""
    await open_and_close(server.settings)
    assert server.run(
        "SHOW INDEXES YIELD type, entityType WHERE type = 'LOOKUP' RETURN entityType"
    ) == [["NODE"]]


@pytest.mark.neo4j
async def test_several_processes_open_an_empty_database_at_once(server):
    await open_and_close(server.settings)
    before = list_indexes(server)
    for _ in range(3):
        server.empty()
        for (name,) in server.run("SHOW CONSTRAINTS YIELD name"):
            server.run(f"DROP CONSTRAINT {name}")
        for (name,) in server.run(
            "SHOW INDEXES YIELD name, type WHERE type <> 'LOOKUP' RETURN name"
        ):
            server.run(f"DROP INDEX {name}")
        await asyncio.gather(*(open_and_close(server.settings) for _ in range(4)))
        assert list_indexes(server) == before


@pytest.mark.neo4j
async def test_a_newer_schema_is_refused(server):
    await open_and_close(server.settings)
    server.run("MATCH (m:Meta) SET m.schema = 999")
    with pytest.raises(SchemaTooNew, match="has schema 999"):
        await open_and_close(server.settings)


@pytest.mark.neo4j
async def test_a_next_schema_version_is_migrated_to(server, tmp_path, monkeypatch):
    """The mechanism, tried with a made-up version: this release has one."""
    await open_and_close(server.settings)
    newest = max(load_schema_steps())
    folder = tmp_path / "cypher"
    shutil.copytree(str(schema.find_cypher_folder()), folder)
    (folder / "schema" / f"{newest + 1:04}_made_up.cypher").write_text(
        "// a comment\nCREATE INDEX made_up IF NOT EXISTS FOR (c:Client) ON (c.made_up);\n"
    )
    monkeypatch.setattr(schema, "find_cypher_folder", lambda: folder)
    try:
        await open_and_close(server.settings)
        assert server.run("MATCH (m:Meta) RETURN m.schema") == [[newest + 1]]
        assert "made_up" in list_indexes(server)
        monkeypatch.undo()
        with pytest.raises(SchemaTooNew):
            await open_and_close(server.settings)
    finally:
        server.run("DROP INDEX made_up IF EXISTS")


@pytest.mark.neo4j
async def test_a_database_of_schema_1_gets_the_words_of_its_clients(server):
    store = Neo4jStore(server.settings)
    await store.open()
    await store.upsert_clients(
        [change(ClientKind.ITEM, "b-17", title="Kind of Blue", attributes=("Modal Jazz",))]
    )
    await record_pairs(store, ("ann", "b-17"))
    await store.close()
    server.run("MATCH (c:Client) REMOVE c.words, c.only_in_events")
    server.run("MATCH (m:Meta) REMOVE m.word_rules")
    for name in ("user_words", "item_words", "log_entry_kind"):
        server.run(f"DROP INDEX {name}")
    server.run("MATCH (m:Meta) SET m.schema = 1")
    store = Neo4jStore(server.settings)
    await store.open()
    words = ["blue", "modal", "b"]
    assert await store.find_clients_by_words(ClientKind.ITEM, words, -1, 9) == [item(0)]
    assert await store.find_clients_by_words(ClientKind.USER, ["an"], -1, 9) == [user(0)]
    await store.close()
    assert server.run("MATCH (m:Meta) RETURN m.schema") == [[max(load_schema_steps())]]


@pytest.mark.neo4j
async def test_an_older_database_tells_clients_of_events_and_of_upserts_apart(server):
    clock = TurnedClock()
    store = Neo4jStore(server.settings, clock)
    await store.open()
    await store.upsert_clients([change(ClientKind.ITEM, "named"), change(ClientKind.USER, "bob")])
    clock.ms += 5
    await record_pairs(store, ("ann", "red"), ("ann", "blue"), ("bob", "named"), ("bob", "blue"))
    await store.upsert_clients([change(ClientKind.ITEM, "blue", title="Blue")])
    await store.close()
    server.run("MATCH (c:Client) REMOVE c.only_in_events")
    for sequence, kind, refs in ((8, "clients", "[98, 0, 96, 1]"), (9, "erasure", "[98]")):
        server.run(
            f"CREATE (:LogEntry {{sequence: {sequence}, kind: '{kind}', refs: {refs}, number: 0,"
            " at: 1})"
        )
    server.run("MATCH (m:Meta) SET m.schema = 2 REMOVE m.word_rules")
    store = Neo4jStore(server.settings, clock)
    await store.open()
    clients = await store.get_clients([item(0), item(1), item(2), user(0), user(1)])
    assert {client.key.id for client in clients if client.only_in_events} == {"red", "ann"}
    assert await store.find_orphans(user(1)) == [item(1)]
    assert [entry.refs for entry in await store.read_entries(7, 9)] == [(0, 1), (98,)]
    await store.close()


@pytest.mark.neo4j
async def test_an_older_database_tells_clients_of_events_though_the_events_are_gone(server):
    clock = TurnedClock()
    store = Neo4jStore(server.settings, clock)
    await store.open()
    await store.upsert_clients([change(ClientKind.ITEM, "before the first erasure")])
    clock.ms += 5
    await record_pairs(store, ("bob", "red"), ("ann", "blue"), ("ann", "green"))
    await store.upsert_clients([change(ClientKind.ITEM, "named")])
    clock.ms += 5
    await record_pairs(store, ("bob", "red"), ("ann", "named"), ("ann", "red"))
    await record_pairs(store, ("eve", "gone"))
    clock.ms += 5
    await store.close()
    server.run(
        "MATCH (:Client {id: 'ann'})-[:DID]->(i:Interaction) CREATE (:Retracted {sequence:"
        " i.sequence, event_id: i.event_id, content_hash: i.content_hash, user: i.user, item:"
        " i.item}) DETACH DELETE i"
    )
    server.run("MATCH (c:Client {id: 'eve'})-[:DID]->(i:Interaction) DETACH DELETE c, i")
    server.run("CREATE (:LogEntry {sequence: 90, kind: 'erasure', refs: [98], number: 0, at: 1})")
    server.run("MATCH (c:Client) REMOVE c.only_in_events")
    server.run("MATCH (m:Meta) SET m.schema = 2 REMOVE m.word_rules")
    store = Neo4jStore(server.settings, clock)
    await store.open()
    items = await store.scan_clients(ClientKind.ITEM, -1, 99)
    marked = {client.key.id for client in items if client.only_in_events}
    assert marked == {"red", "blue", "green", "gone", "before the first erasure"}
    await store.close()


@pytest.mark.neo4j
async def test_a_wrong_password_is_said_and_not_shown(server):
    wrong = server.settings.model_copy(update={"password": SecretStr("not-the-password")})
    with pytest.raises(StoreRefused, match="user or password") as raised:
        await open_and_close(wrong)
    assert "not-the-password" not in f"{raised.value} {wrong}"


async def test_a_server_that_is_down_is_said_at_once():
    with pytest.raises(StoreUnreachable, match="does not answer"):
        await open_and_close(Neo4jSettings(uri="bolt://127.0.0.1:1"))


@pytest.mark.parametrize(
    "agent", ["Neo4j/4.4.40", "Neo4j/5.25.1", "Neo4j/2026.01.1", "Memgraph/5.26.0"]
)
def test_another_version_is_refused(agent):
    with pytest.raises(StoreUnsupported, match=r"5\.26"):
        check_version(agent, "bolt://there")


@pytest.mark.neo4j
async def test_a_closed_store_says_so(server):
    store = Neo4jStore(server.settings, TurnedClock())
    await store.open()
    await store.close()
    with pytest.raises(StoreBusy, match="closed"):
        await store.get_recorded_through()


@pytest.mark.neo4j
async def test_replica_sync_record_at_once_without_a_gap(server):
    stores = [Neo4jStore(server.settings) for _ in range(2)]
    for store in stores:
        await store.open()
    try:
        await asyncio.gather(*(record_calls(store, place) for place, store in enumerate(stores)))
        part = await stores[0].read_log(0, 10_000)
        assert len(part.interactions) == 80
        assert len(part.interactions) + len(part.entries) == await stores[1].get_recorded_through()
        assert await stores[0].check() == []
    finally:
        for store in stores:
            await store.close()


async def record_calls(store, place):
    for n in range(20):
        await store.record(
            [
                event(f"{place}-{n}-a", f"u{place}", f"i{n}"),
                event(f"{place}-{n}-b", f"u{n}", f"i{place}"),
            ],
            auto_create=True,
        )


@pytest.mark.neo4j
async def test_the_story_of_a_line_can_be_walked(server):
    """One Cypher question answers where a line comes from: its interaction, in one step."""
    store = Neo4jStore(server.settings, TurnedClock())
    await store.open()
    try:
        await create_clients(store)
        (sequence,) = await record_pairs(store, ("u0", "i0"))
        await learn_all(store)
        claim = await store.claim_reason("w", 9, 1_000)
        await store.commit_reasoned(
            claim, [reasoned_interaction(sequence, text(user(0), 1, "likes jazz"))]
        )
        await store.upsert_clients([change(ClientKind.USER, "u0", title="Ann")])
    finally:
        await store.close()
    assert server.run("""
        MATCH (c:User {id: 'u0'})-[:HAS]->(p:ProfileVersion)<-[:WROTE]-(i:Interaction)<-[:DID]-(c)
        MATCH (c)-[:SAYS]->(l:Line {since: p.version})
        RETURN c.title, l.text, l.interactions, i.sequence""") == [
        ["Ann", "likes jazz", [1], sequence]
    ]
