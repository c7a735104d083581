"""What only a file can suffer: damage, other owners, full disks, old and new schemas."""

import asyncio
import os
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from dataclasses import replace
from unittest.mock import Mock

import numpy as np
import pytest

from propagation.adapters.sqlite.connection import schema
from propagation.adapters.sqlite.store import SqliteStore
from propagation.model import (
    ClientKey,
    ClientKind,
    EntryKind,
    PropagationError,
    SchemaTooNew,
    StoreBusy,
    StoreCorrupt,
    StoreFull,
    Withdrawal,
)
from tests.contract.graph_store import (
    TurnedClock,
    change,
    checkpoint,
    event,
    find_event,
    item,
    learn_all,
    record_pairs,
    run_round,
    user,
    withdraw,
)
from tests.contract.sqlite.older_schemas import TO_SCHEMA_3


@pytest.fixture
def path(tmp_path):
    return tmp_path / "graph.db"


def make_store(path):
    return SqliteStore(path, TurnedClock())


async def limit_size(store, pages):
    """Let the file grow no further, as on a full disk."""
    await store.database.write(
        lambda connection: connection.execute(f"PRAGMA max_page_count={pages}").close(), alone=True
    )


async def open_and_close(path):
    store = make_store(path)
    await store.open()
    await store.close()


async def test_only_its_owner_may_read_the_file(path):
    os.umask(0o022)
    store = make_store(path)
    await store.open()
    await record_pairs(store, ("u", "i"))
    modes = {file.name: file.stat().st_mode & 0o777 for file in path.parent.iterdir()}
    await store.close()
    assert set(modes.values()) == {0o600}, modes


async def test_a_file_in_a_folder_that_does_not_exist_is_refused_and_nothing_is_made(tmp_path):
    with pytest.raises(PropagationError, match=r"nowhere/deep/graph\.db .*folder"):
        await open_and_close(tmp_path / "nowhere" / "deep" / "graph.db")
    assert list(tmp_path.iterdir()) == []


async def test_a_second_service_is_told_who_holds_the_file(path):
    store = make_store(path)
    await store.open()
    with pytest.raises(StoreBusy, match=f"held by process {os.getpid()}"):
        await open_and_close(path)
    await store.close()
    await open_and_close(path)


@pytest.mark.slow
async def test_a_second_process_is_told_who_holds_the_file_by_any_name_and_without_the_lock_file(
    path,
):
    store, hard = make_store(path), path.with_name("hard.db")
    await store.open()
    os.link(path, hard)
    path.with_name("graph.db.lock").unlink()
    for name in (path, hard):
        second = (
            "import sys; from pathlib import Path; from "
            "propagation.adapters.sqlite.connection.lock import hold_database; "
            "hold_database(Path(sys.argv[1])).__enter__()"
        )
        done = await asyncio.to_thread(
            subprocess.run,
            [sys.executable, "-c", second, str(name)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert str(name) in done.stderr
        assert f"process {os.getpid()}" in done.stderr
    await store.close()
    await open_and_close(hard)


@pytest.mark.parametrize(
    ("version", "error", "said"),
    [(-3, StoreCorrupt, "its schema is -3"), (999, SchemaTooNew, "has schema 999")],
    ids=["damage", "newer"],
)
async def test_a_schema_that_is_none_of_ours_is_refused(path, version, error, said):
    await open_and_close(path)
    with closing(sqlite3.connect(path)) as other, other:
        other.execute(f"PRAGMA user_version={version}")
    with pytest.raises(error, match=said):
        await open_and_close(path)


async def test_a_file_that_is_no_database(path):
    path.write_bytes(b"this is not a database, whatever its name says" * 100)
    with pytest.raises(StoreCorrupt, match="back-up"):
        await open_and_close(path)


async def test_an_opening_that_fails_leaves_no_lock_file(path):
    path.write_bytes(b"no database" * 1_000)
    with pytest.raises(StoreCorrupt):
        await make_store(path).open()
    assert not path.with_name("graph.db.lock").exists()


async def test_an_opening_that_fails_at_its_last_step_frees_the_file(path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", Mock(side_effect=RuntimeError("no new thread")))
        with pytest.raises(RuntimeError, match="no new thread"):
            await make_store(path).open()
    await open_and_close(path)


async def test_another_programs_database_is_left_alone(path):
    with closing(sqlite3.connect(path)) as other, other:
        other.execute("CREATE TABLE theirs (x)")
    before = path.read_bytes()
    with pytest.raises(StoreCorrupt, match="another program's"):
        await open_and_close(path)
    assert path.read_bytes() == before


async def test_damage_inside_the_file_is_found(path):
    store = make_store(path)
    await store.open()
    await store.upsert_clients(
        [change(ClientKind.ITEM, f"i{n}", description="x" * 2_000) for n in range(500)]
    )
    await store.close()
    with path.open("r+b") as file:
        file.seek(path.stat().st_size // 2 // 4096 * 4096)
        file.write(os.urandom(40_960))
    with pytest.raises(StoreCorrupt, match="back-up"):
        await make_store(path).open()


async def test_a_schema_that_is_no_text_is_damage(path):
    await open_and_close(path)
    content = path.read_bytes()
    path.write_bytes(content.replace(b"NOT NULL", b"NOT NU\xb3L", 1))
    with pytest.raises(StoreCorrupt, match="back-up"):
        await open_and_close(path)


async def test_damage_met_while_open_stops_the_acks(path):
    def raise_malformed(connection: sqlite3.Connection) -> None:
        error = sqlite3.DatabaseError("database disk image is malformed")
        error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
        raise error

    store = make_store(path)
    await store.open()
    with pytest.raises(StoreCorrupt):
        await store.database.read(raise_malformed)
    with pytest.raises(StoreCorrupt):
        await store.upsert_clients([change(ClientKind.ITEM, "late")])
    await store.close()


async def test_a_file_that_was_removed_or_replaced_stops_the_acks(path):
    store = make_store(path)
    await store.open()
    await store.upsert_clients([change(ClientKind.ITEM, "early")])
    path.rename(path.with_name("elsewhere.db"))
    for content in (None, b""):
        if content is not None:
            path.write_bytes(content)
        with pytest.raises(StoreCorrupt, match="removed or replaced"):
            await store.upsert_clients([change(ClientKind.ITEM, "late")])
    path.with_name("elsewhere.db").rename(path)
    await store.close()


async def test_a_full_disk_refuses_whole_calls_and_recovers(path):
    """Several callers share a commit: each is accepted whole or refused whole, and refused ones may
    come again."""
    store = make_store(path)
    await store.open()
    await limit_size(store, pages=146)
    acked, refused = [], []
    for n in range(40):
        calls = [
            [event(f"{n}-{m}-{k}", f"u{n}-{m}", metadata={"note": "x" * 300}) for k in range(20)]
            for m in range(4)
        ]
        answers = await asyncio.gather(
            *(store.record(call, auto_create=True) for call in calls), return_exceptions=True
        )
        for call, answer in zip(calls, answers, strict=True):
            assert not isinstance(answer, Exception) or isinstance(answer, StoreFull)
            (refused if isinstance(answer, StoreFull) else acked).append(call)
    assert acked
    assert refused
    await _assert_holds(store, acked, refused)
    assert (await store.load_texts([user(0)]))[user(0)].profile.version == 0
    await store.close()
    store = make_store(path)
    await store.open()
    await _assert_holds(store, acked, refused)
    for call in refused:
        answer = await store.record(call, auto_create=True)
        assert {outcome.status.value for outcome in answer.outcomes} == {"accepted"}
    assert await store.check() == []
    await store.close()


async def _assert_holds(store, acked, refused):
    part = await store.read_log(0, 100_000)
    assert len(part.interactions) == sum(len(call) for call in acked)
    assert len(part.interactions) + len(part.entries) == await store.get_recorded_through()
    for call in acked:
        assert await find_event(store, call[0].event_id) is not None
    for call in refused:
        assert await find_event(store, call[0].event_id) is None
        assert await store.find_refs([ClientKey(kind=ClientKind.USER, id=call[0].user_id)]) == [
            None
        ]


async def test_a_full_disk_leaves_the_last_checkpoint(path):
    store = make_store(path)
    await store.open()
    await limit_size(store, pages=732)
    await record_pairs(store, ("u", "i"))
    await learn_all(store)
    lease = await store.acquire_lease("learn", "test", 10_000)
    await store.save_checkpoint(lease, checkpoint(1))
    with pytest.raises(StoreFull):
        await store.save_checkpoint(lease, checkpoint(2, rows=1_000_000))
    assert (await store.get_newest_checkpoint()).sequence == 1
    await store.save_checkpoint(lease, checkpoint(2))
    assert (await store.get_newest_checkpoint()).sequence == 2
    await store.close()


async def test_a_claim_outlives_no_restart_of_its_only_process(path):
    store = make_store(path)
    await store.open()
    await record_pairs(store, ("u0", "i0"))
    await learn_all(store)
    await store.claim_reason("gone", 10, 600_000)
    await store.close()
    store = make_store(path)
    await store.open()
    assert await store.claim_reason("new", 10, 1_000) is not None
    await store.close()


async def test_a_closed_store_says_so(path):
    store = make_store(path)
    await store.open()
    await store.close()
    for call in (store.get_recorded_through(), store.put_blob("a", b"")):
        with pytest.raises(StoreBusy, match="closed"):
            await call


def _add_migration(monkeypatch, statements):
    """A release whose schema is the one after the newest."""
    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, statements))


async def test_a_database_is_migrated_to_the_next_version_with_its_rows(path, monkeypatch):
    store = make_store(path)
    await store.open()
    await record_pairs(store, ("u", "i"))
    await store.close()
    _add_migration(monkeypatch, "CREATE TABLE added (x); INSERT INTO added VALUES (7);")
    store = make_store(path)
    await store.open()
    assert await record_pairs(store, ("u", "j")) == [4]
    await store.close()
    with closing(sqlite3.connect(path)) as migrated, migrated:
        assert migrated.execute("PRAGMA user_version").fetchone() == (schema.get_newest_version(),)
        assert migrated.execute("SELECT x FROM added").fetchall() == [(7,)]
    await open_and_close(path)


def make_schema_2(older):
    older.executescript(TO_SCHEMA_3)
    older.executescript(
        "ALTER TABLE client DROP COLUMN only_in_events;"
        " DELETE FROM meta WHERE name = 'search_words'; PRAGMA user_version = 2;"
    )


def make_schema_1(older):
    make_schema_2(older)
    older.executescript(
        "DROP TABLE client_word; DROP INDEX log_operation; PRAGMA user_version = 1;"
    )


@pytest.mark.parametrize("make_older", [make_schema_1, make_schema_2])
async def test_an_older_database_tells_clients_of_events_and_of_upserts_apart(path, make_older):
    store = make_store(path)
    await store.open()
    await store.upsert_clients([change(ClientKind.ITEM, "named"), change(ClientKind.USER, "bob")])
    await record_pairs(store, ("ann", "red"), ("ann", "blue"), ("bob", "named"), ("bob", "blue"))
    await store.upsert_clients([change(ClientKind.ITEM, "blue", title="Blue")])
    await store.close()
    with closing(sqlite3.connect(path)) as older, older:
        older.execute("UPDATE log SET at = at - 1000 WHERE sequence = 1")
        older.execute("INSERT INTO log VALUES (9, 'clients', '[98,0,96,1]', 0, 1)")
        older.execute("INSERT INTO log VALUES (10, 'retraction', '[98]', 0, 1)")
        older.execute("INSERT INTO log VALUES (11, 'erasure', '[98]', 0, 1)")
        make_older(older)
    store = make_store(path)
    await store.open()
    clients = await store.get_clients([item(0), item(1), item(2), user(0), user(1)])
    marked = {client.key.id for client in clients if client.only_in_events}
    assert marked == {"red", "ann"}
    assert await store.find_orphans(user(1)) == [item(1)]
    entries = await store.read_entries(8, 11)
    assert [entry.refs for entry in entries] == [(0, 1), (), (98,)]
    assert await store.find_clients_by_words(ClientKind.ITEM, ["blu"], -1, 9) == [item(2)]
    await store.close()


@pytest.mark.parametrize("make_older", [make_schema_1, make_schema_2])
async def test_an_older_database_tells_clients_of_events_though_the_events_are_gone(
    path, make_older
):
    clock = TurnedClock()
    store = SqliteStore(path, clock)
    await store.open()
    await store.upsert_clients([change(ClientKind.ITEM, "before the first erasure")])
    await record_pairs(store, ("bob", "red"), ("ann", "blue"), ("ann", "green"))
    await store.upsert_clients([change(ClientKind.ITEM, "named")])
    clock.ms += 1_000
    await record_pairs(store, ("bob", "red"), ("ann", "named"), ("ann", "red"))
    await record_pairs(store, ("eve", "gone"))
    await store.close()
    with closing(sqlite3.connect(path)) as older, older:
        keep = "SELECT sequence, event_id, content_hash, seed, user, item FROM interaction"
        for table, user_id in (("retracted", "ann"), (None, "eve")):
            of_user = f"WHERE user = (SELECT ref FROM client WHERE id = '{user_id}')"
            if table:
                older.execute(f"INSERT INTO {table} {keep} {of_user}")
            older.execute(f"DELETE FROM interaction {of_user}")
        older.execute("DELETE FROM client WHERE id = 'eve'")
        older.execute("INSERT INTO log VALUES (90, 'erasure', '[98]', 0, 1)")
        older.execute(
            "INSERT INTO client (ref, kind, id, title, description, attributes, categories, hidden,"
            " metadata, sequence) SELECT 96, kind, 'later', '', '', '[]', '[]', 0, '{}', 91 FROM"
            " client WHERE id = 'red'"
        )
        older.execute("INSERT INTO log VALUES (91, 'clients', '[96]', 0, 1)")
        make_older(older)
    store = make_store(path)
    await store.open()
    items = await store.scan_clients(ClientKind.ITEM, -1, 99)
    marked = {client.key.id for client in items if client.only_in_events}
    assert marked == {"red", "blue", "green", "gone", "before the first erasure"}
    (ann,) = await store.find_refs([ClientKey(ClientKind.USER, "ann")])
    assert await store.find_orphans(ann) == await store.find_refs(
        [ClientKey(ClientKind.ITEM, name) for name in ("blue", "green")]
    )
    await store.close()


async def test_a_database_of_schema_1_gets_the_words_of_its_clients(path):
    store = make_store(path)
    await store.open()
    await store.upsert_clients(
        [change(ClientKind.ITEM, "b-17", title="Kind of Blue", attributes=("Modal Jazz",))]
    )
    await record_pairs(store, ("ann", "b-17"))
    await run_round(store)
    await store.close()
    with closing(sqlite3.connect(path)) as older, older:
        make_schema_1(older)
    store = make_store(path)
    await store.open()
    words = ["blue", "modal", "b"]
    assert await store.find_clients_by_words(ClientKind.ITEM, words, -1, 9) == [item(0)]
    assert await store.find_clients_by_words(ClientKind.USER, ["an"], -1, 9) == [user(0)]
    assert len(await store.get_entries_before(99, [EntryKind.ROUND], 9)) == 1
    await store.close()
    with closing(sqlite3.connect(path)) as migrated:
        found = migrated.execute("SELECT name, sql FROM sqlite_schema ORDER BY name").fetchall()
    with closing(sqlite3.connect(":memory:")) as new:
        schema.create_tables(new)
        expected = new.execute("SELECT name, sql FROM sqlite_schema ORDER BY name").fetchall()
    assert [(name, "".join(str(sql).split())) for name, sql in found] == [
        (name, "".join(str(sql).split())) for name, sql in expected
    ]


async def test_a_migration_that_fails_leaves_the_database_as_it_was(path, monkeypatch):
    await open_and_close(path)
    before = schema.get_newest_version()
    _add_migration(monkeypatch, "CREATE TABLE half (x); INSERT INTO nowhere VALUES (1);")
    with pytest.raises(sqlite3.OperationalError):
        await open_and_close(path)
    with closing(sqlite3.connect(path)) as half, half:
        assert half.execute("PRAGMA user_version").fetchone() == (before,)
        tables = half.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'half'")
        assert tables.fetchone() == (0,)


async def test_numbers_of_older_checkpoints_are_in_no_page_once_it_is_wiped(path, monkeypatch):
    store = make_store(path)
    await store.open()
    await record_pairs(store, ("ann", "blue"))
    await learn_all(store)
    lease = await store.acquire_lease("learn", "test", 10_000)
    numbers = np.random.default_rng(5).random(1_000)
    await store.save_checkpoint(
        lease, replace(checkpoint(1, barrier=True), arrays={"mass": numbers})
    )
    monkeypatch.setattr(
        store, "sweep_after_commit", lambda: None
    )  # a process that was killed before it came to it
    rows = await store.get_interactions_of_clients([user(0)])
    erasure = Withdrawal(kind=EntryKind.ERASURE, refs=(user(0),), interactions=rows, erased=user(0))
    await withdraw(store, lease, erasure, checkpoint(1, barrier=True))
    assert numbers[:64].tobytes() in path.read_bytes() + path.with_name("graph.db-wal").read_bytes()
    await store.wipe()
    assert (
        numbers[:64].tobytes()
        not in path.read_bytes() + path.with_name("graph.db-wal").read_bytes()
    )
    await store.close()


async def test_a_sweep_beside_that_fails_is_told(path, monkeypatch, caplog):
    store = make_store(path)
    await store.open()

    async def raise_full():
        raise StoreFull("no space")

    monkeypatch.setattr(store, "sweep", raise_full)
    store.sweep_after_commit()
    await store.close()
    assert "no space" in caplog.text
