"""Back-up, restore, export, import and compaction of a database file: whole, refused when they must
be, and without loss."""

import asyncio
import os
import shutil
import sqlite3
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from propagation.adapters.sqlite.connection import append_digest, backup_digest, schema
from propagation.adapters.sqlite.maintenance import backup_list, commands
from propagation.adapters.sqlite.maintenance.commands import SqliteFiles
from propagation.adapters.sqlite.store import SqliteStore
from propagation.model import (
    Backup,
    BrokenData,
    ClientKind,
    PropagationError,
    SchemaTooNew,
    StoreBusy,
    StoreCorrupt,
)
from tests.contract.graph_store import (
    STRANGE,
    TurnedClock,
    change,
    checkpoint,
    edge,
    event,
    find_event,
    gradient,
    item,
    learn_all,
    message,
    reasoned_interaction,
    record_pairs,
    run_round,
    text,
    user,
)
from tests.contract.sqlite.older_schemas import TO_SCHEMA_3


def check_progress(done, total):
    assert 0 <= done <= total


def restore_copy(copy):
    """Return the database that a back-up makes."""
    target = copy.with_name("restored.db")
    SqliteFiles(target).restore(copy, check_progress)
    return target


@contextmanager
def forge_backup(copy):
    """Yield a connection that changes a back-up, whose digest is made again."""
    with copy.open("r+b") as file:
        file.truncate(copy.stat().st_size - backup_digest.SIZE)
    with closing(sqlite3.connect(copy)) as connection, connection:
        yield connection
    append_digest(copy)


def make_store(path):
    return SqliteStore(path, TurnedClock())


async def fill_store(store, draw):
    """A little of everything that a database can hold, drawn."""
    words = [*STRANGE, "jazz", "opera"]
    await store.upsert_clients(
        [
            change(
                ClientKind.ITEM,
                f"i{n}",
                title=str(draw.choice(words)),
                description=str(draw.choice(words)),
                attributes=("jazz",),
                metadata={"note": str(draw.choice(words))},
            )
            for n in range(6)
        ]
    )
    await store.record(
        [
            event(
                f"e{n}",
                f"u{n % 3}",
                f"i{int(draw.integers(6))}",
                weight=float(draw.uniform(0.1, 9)),
                metadata={"é": str(draw.choice(words))} if n % 2 else {},
            )
            for n in range(int(draw.integers(1, 9)))
        ],
        auto_create=True,
    )
    await learn_all(store)
    lease = await store.acquire_lease("learn", "test", 10_000)
    await store.save_checkpoint(
        lease, checkpoint(await store.get_learned_through(), barrier=bool(draw.integers(2)))
    )
    claim = await store.claim_reason("worker", 100, 10_000)
    first = {work.user: work for work in claim.work}
    await store.commit_reasoned(
        claim,
        [
            reasoned_interaction(
                work.sequence,
                text(ref, 1, str(draw.choice(words)), weight=float(draw.random())),
                user=ref,
                gradients=(gradient(work.sequence, ref),),
            )
            for ref, work in first.items()
        ],
    )
    await run_round(
        store,
        versions=(message(1, 1, user(0)),),
        opened=(edge(1, item(0), float(draw.random())), edge(2, user(0))),
    )
    await run_round(
        store, closed=((1, item(0)),), opened=(edge(3, item(1)),), publish=bool(draw.integers(2))
    )
    await store.put_blob("raw", draw.bytes(int(draw.integers(0, 50))))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "graph.db"


@pytest.fixture
async def database(path):
    """A closed database with something in it."""
    store = make_store(path)
    await store.open()
    await fill_store(store, np.random.default_rng(3))
    await store.close()
    return path


def read_tables(path):
    """Every row of every table, in order."""
    with closing(sqlite3.connect(path)) as connection:
        tables = [
            name
            for (name,) in connection.execute(
                "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name"
            )
        ]
        return {
            table: connection.execute(f"SELECT * FROM {table} NOT INDEXED").fetchall()
            for table in tables
        }


@settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(seed=st.integers(0, 1 << 32))
def test_exported_restored_and_exported_again_is_the_same_to_the_byte(tmp_path, seed):
    folder = tmp_path / str(seed)
    folder.mkdir(exist_ok=True)
    first, second = folder / "first.db", folder / "second.db"

    async def live():
        store = make_store(first)
        await store.open()
        await fill_store(store, np.random.default_rng(seed))
        await store.close()

    asyncio.run(live())
    rows = SqliteFiles(first).export(folder / "first.jsonl", check_progress)
    SqliteFiles(second).restore(folder / "first.jsonl", check_progress)
    assert SqliteFiles(second).export(folder / "second.jsonl", check_progress) == rows
    assert (folder / "first.jsonl").read_bytes() == (folder / "second.jsonl").read_bytes()
    assert read_tables(first) == read_tables(second)
    shutil.rmtree(folder)


@pytest.mark.slow
async def test_a_back_up_of_a_database_that_is_written_is_one_moment_of_it(path, tmp_path):
    """It is another process in life; here another connection, between whose steps the store
    commits."""
    store = make_store(path)
    await store.open()
    for n in range(8):
        await store.record(
            [event(f"before-{n}-{k}", f"u{n}", metadata={"note": "x" * 900}) for k in range(1_600)],
            auto_create=True,
        )
    files, loop, through = SqliteFiles(path), asyncio.get_running_loop(), []

    def write_meanwhile(done, total):
        if len(through) < 3:
            name = f"during-{len(through)}"
            asyncio.run_coroutine_threadsafe(
                store.record([event(name)], auto_create=True), loop
            ).result(10)
            through.append(done)

    size = await asyncio.to_thread(files.backup, tmp_path / "copy.db", write_meanwhile)
    assert len(through) == 3, "it was written while it was copied"
    assert size == (tmp_path / "copy.db").stat().st_size
    after = await store.get_recorded_through()
    await store.close()
    copy = make_store(restore_copy(tmp_path / "copy.db"))
    await copy.open()
    assert await copy.check() == []
    assert await copy.get_recorded_through() == after - 3
    assert await find_event(copy, "before-7-1599") is not None
    assert await find_event(copy, "during-0") is None
    await copy.close()


@pytest.mark.parametrize("command", ["backup", "export"])
async def test_a_copy_into_no_folder_is_refused_before_anything_is_made(path, tmp_path, command):
    store = make_store(path)
    await store.open()
    await store.close()
    copy = getattr(SqliteFiles(path), command)
    with pytest.raises(PropagationError, match="nofolder is not a folder"):
        copy(tmp_path / "nofolder" / "copy", check_progress)
    assert not (tmp_path / "nofolder").exists()


async def test_a_back_up_holds_nothing_that_a_process_had_begun(path, tmp_path):
    store = make_store(path)
    await store.open()
    await record_pairs(store, ("u", "i"))
    await learn_all(store)
    await run_round(
        store, versions=(message(1, 1, user(0)),), opened=(edge(1, user(0)),), publish=False
    )
    await store.claim_reason("worker", 10, 10_000)
    SqliteFiles(path).backup(tmp_path / "copy.db", check_progress)
    await store.close()
    assert SqliteFiles(restore_copy(tmp_path / "copy.db")).list_leftovers() == []
    assert [found.split()[:2] for found in SqliteFiles(path).list_leftovers()] == [
        ["2", "leases"],
        ["1", "claim"],
        ["2", "rows"],
    ]
    SqliteFiles(path).drop_leftovers()
    assert SqliteFiles(path).list_leftovers() == []
    begun = path.with_name(path.name + ".partial")
    begun.write_bytes(bytes(3 << 20))
    [leftover] = SqliteFiles(path).list_leftovers()
    assert leftover.startswith(f"{begun} (3 MiB)")
    SqliteFiles(path).drop_leftovers()
    assert not begun.exists()


async def test_a_copy_that_was_begun_beside_it_goes_when_it_is_opened(path, caplog):
    """What is erased from the file later would stay in it."""
    begun = [path.with_name(f"{path.name}.partial{end}") for end in ("", "-wal")]
    for part in begun:
        part.write_bytes(bytes(3 << 20))
    store = make_store(path)
    await store.open()
    assert [part for part in begun if part.exists()] == []
    await store.close()
    assert "graph.db.partial" in caplog.text


def test_what_is_none_of_ours_is_not_looked_into(tmp_path):
    (tmp_path / "text").write_text("no database, whatever its name says" * 100)
    with closing(sqlite3.connect(tmp_path / "theirs.db")) as theirs, theirs:
        theirs.execute("CREATE TABLE lease (expires)")
    for name in ("text", "theirs.db"):
        for look in (
            SqliteFiles(tmp_path / name).list_leftovers,
            SqliteFiles(tmp_path / name).drop_leftovers,
        ):
            with pytest.raises(StoreCorrupt):
                look()


async def test_a_database_of_an_older_schema_has_no_leftovers_before_it_is_migrated(
    path, monkeypatch
):
    store = make_store(path)
    await store.open()
    await store.acquire_lease("learn", "killed", 10_000)
    await store.close()
    assert SqliteFiles(path).list_leftovers() != []
    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, "CREATE TABLE added (x);"))
    assert SqliteFiles(path).list_leftovers() == []


async def test_back_ups_are_listed_and_the_list_is_bounded(tmp_path, caplog):
    database = tmp_path / "graph.db"
    store = make_store(database)
    await store.open()
    assert await store.list_backups() == []
    size = SqliteFiles(database).backup(tmp_path / "one", check_progress)
    [made] = await store.list_backups()
    assert (made.file, made.bytes) == (str(tmp_path / "one"), size)
    listed = backup_list.find_backup_list(database)
    assert listed.stat().st_mode & 0o777 == 0o600
    with listed.open("a") as file:
        file.write('\n{"time": 5, "fi')  # a command that was killed
    assert await store.list_backups() == [made]
    SqliteFiles(database).backup(tmp_path / "two", check_progress)
    assert [Path(one.file).name for one in await store.list_backups()] == ["one", "two"]
    listed.write_text("")
    for number in range(2 * backup_list.BACKUPS_KEPT + 5):
        backup = Backup(time=number, file="f", bytes=1)
        backup_list.note_backup(database, backup)
    assert len(listed.read_text().splitlines()) < 2 * backup_list.BACKUPS_KEPT
    found = await store.list_backups()
    assert len(found) == backup_list.BACKUPS_KEPT
    assert found[-1].time == number
    await store.close()


@pytest.mark.parametrize("name", [b"u2028\xe2\x80\xa8x", b"u0085\xc2\x85x", b"no text \xff"])
def test_a_back_up_of_any_name_is_listed(database, tmp_path, name):
    SqliteFiles(database).backup(tmp_path / os.fsdecode(name), check_progress)
    [found] = backup_list.read_backups(database)
    assert Path(found.file).name == name.decode("utf-8", "backslashreplace")


def test_a_pipe_in_place_of_the_list_is_left_alone(database, tmp_path, caplog):
    os.mkfifo(backup_list.find_backup_list(database))
    SqliteFiles(database).backup(tmp_path / "one", check_progress)
    assert "it is no file" in caplog.text
    assert backup_list.read_backups(database) == []


async def test_a_list_that_cannot_be_written_harms_no_back_up(database, tmp_path, caplog):
    backup_list.find_backup_list(database).mkdir()
    SqliteFiles(database).backup(tmp_path / "one", check_progress)
    assert "the back-up is complete" in caplog.text
    assert backup_list.read_backups(database) == []
    assert "cannot be read" in caplog.text
    store = make_store(restore_copy(tmp_path / "one"))
    await store.open()
    await store.close()


@pytest.mark.parametrize("exported_by_schema", [1, 2, schema.get_newest_version()])
async def test_clients_of_a_restored_export_are_found(tmp_path, exported_by_schema):
    database = tmp_path / "graph.db"
    store = make_store(database)
    await store.open()
    await store.upsert_clients([change(ClientKind.ITEM, "b-17", title="Kind of Blue")])
    await store.close()
    with closing(sqlite3.connect(database)) as older, older:
        if exported_by_schema < 3:
            older.executescript(TO_SCHEMA_3)
            older.executescript(
                "ALTER TABLE client DROP COLUMN only_in_events; PRAGMA user_version = 2;"
            )
        if exported_by_schema == 1:
            older.executescript(
                "DROP TABLE client_word; DROP INDEX log_operation; PRAGMA user_version = 1;"
            )
    SqliteFiles(database).export(tmp_path / "all.jsonl", check_progress)
    assert b"client_word" not in (tmp_path / "all.jsonl").read_bytes(), "it follows from clients"
    store = make_store(restore_copy(tmp_path / "all.jsonl"))
    await store.open()
    found = await store.find_clients_by_words(ClientKind.ITEM, ["blu", "b"], -1, 9)
    assert found == [item(0)]
    await store.close()


async def test_a_restored_copy_is_the_database_it_was(database, tmp_path):
    SqliteFiles(database).backup(tmp_path / "copy.db", check_progress)
    target = tmp_path / "new" / "graph.db"
    target.parent.mkdir()
    SqliteFiles(target).restore(tmp_path / "copy.db", check_progress)
    assert read_tables(target) == read_tables(tmp_path / "copy.db")
    store = make_store(target)
    await store.open()
    assert await store.check() == []
    await store.close()


async def test_a_restore_overwrites_only_when_told_and_never_replays_the_old_log(
    database, tmp_path
):
    SqliteFiles(database).backup(tmp_path / "copy.db", check_progress)
    before = read_tables(tmp_path / "copy.db")
    writer = sqlite3.connect(
        database, isolation_level=None
    )  # as a killed process leaves it: commits in the log alone
    writer.execute("PRAGMA wal_autocheckpoint=0")
    writer.execute("UPDATE client SET title = 'later'")
    shutil.copy(f"{database}-wal", tmp_path / "log")
    shutil.copy(database, tmp_path / "old")
    writer.close()
    shutil.copy(tmp_path / "old", database)
    shutil.copy(tmp_path / "log", f"{database}-wal")
    with pytest.raises(PropagationError, match="--force"):
        SqliteFiles(database).restore(tmp_path / "copy.db", check_progress)
    SqliteFiles(database).restore(tmp_path / "copy.db", check_progress, replace=True)
    assert read_tables(database) == before


async def test_what_is_not_sound_replaces_nothing(database, tmp_path):
    before = read_tables(database)
    (tmp_path / "text").write_text("no database\n")
    (tmp_path / "short.jsonl").write_bytes(b"")
    other = tmp_path / "other.db"
    with closing(sqlite3.connect(other)) as theirs, theirs:
        theirs.execute("CREATE TABLE theirs (x)")
    SqliteFiles(database).backup(tmp_path / "newer.db", check_progress)
    with forge_backup(tmp_path / "newer.db") as newer:
        newer.execute("PRAGMA user_version=999")
    SqliteFiles(database).backup(tmp_path / "broken.db", check_progress)
    with forge_backup(tmp_path / "broken.db") as broken:
        broken.execute("DELETE FROM client")
    for name, error in (
        ("text", BrokenData),
        ("short.jsonl", BrokenData),
        ("other.db", StoreCorrupt),
        ("newer.db", SchemaTooNew),
        ("broken.db", StoreCorrupt),
    ):
        with pytest.raises(error):
            SqliteFiles(database).restore(tmp_path / name, check_progress, replace=True)
    assert read_tables(database) == before
    assert not list(tmp_path.glob("*.partial*"))


async def test_a_back_up_with_one_changed_byte_is_refused_and_replaces_nothing(database, tmp_path):
    copy = tmp_path / "copy.db"
    SqliteFiles(database).backup(copy, check_progress)
    before, whole = read_tables(database), copy.read_bytes()
    places = {*range(24), *range(len(whole) - backup_digest.SIZE, len(whole))}
    places |= {int(place) for place in np.random.default_rng(1).integers(len(whole), size=100)}
    for place in sorted(places):
        changed = bytearray(whole)
        changed[place] ^= 1 << place % 8
        copy.write_bytes(changed)
        with pytest.raises(PropagationError, match=r"fetch .* again.*nothing was replaced"):
            SqliteFiles(database).restore(copy, check_progress, replace=True)
    for cut in (whole[:-1], whole[: -backup_digest.SIZE], whole[:-5_000], whole + b"\n"):
        copy.write_bytes(cut)
        with pytest.raises(StoreCorrupt, match="has no digest at its end"):
            SqliteFiles(database).restore(copy, check_progress, replace=True)
    assert read_tables(database) == before
    copy.write_bytes(whole)
    SqliteFiles(database).restore(copy, check_progress, replace=True)
    assert read_tables(database) == read_tables(copy)


async def test_an_export_with_one_changed_byte_is_refused_and_replaces_nothing(database, tmp_path):
    source = tmp_path / "all.jsonl"
    SqliteFiles(database).export(source, check_progress)
    before, whole = read_tables(database), source.read_bytes()
    places = {int(place) for place in np.random.default_rng(2).integers(len(whole), size=150)}
    for place in sorted(places | set(range(len(whole) - 80, len(whole)))):
        changed = bytearray(whole)
        changed[place] ^= 1 << place % 7
        source.write_bytes(changed)
        with pytest.raises(PropagationError):
            SqliteFiles(database).restore(source, check_progress, replace=True)
    assert read_tables(database) == before


async def test_a_back_up_is_opened_by_no_command_before_it_is_restored(database, tmp_path):
    copy = tmp_path / "copy.db"
    SqliteFiles(database).backup(copy, check_progress)
    whole, files = copy.read_bytes(), SqliteFiles(copy)
    for work in (
        files.list_leftovers,
        files.compact,
        lambda: files.backup(tmp_path / "second.db", check_progress),
        lambda: files.export(tmp_path / "second.jsonl", check_progress),
    ):
        with pytest.raises(PropagationError, match="is a back-up; check it and make"):
            work()
    with pytest.raises(PropagationError, match="is a back-up"):
        await make_store(copy).open()
    assert copy.read_bytes() == whole


HARMS = {
    "ends before its last line": lambda lines: lines[:-1],
    "lines were lost": lambda lines: lines[:-5] + lines[-1:],
    "not a table": lambda lines: [*lines[:3], b'{"nothing": {}}\n', *lines[4:]],
    "not JSON": lambda lines: [*lines[:3], b"{\n", *lines[4:]],
    "row is incomplete": lambda lines: [lines[0], b'{"client": {"ref": 1}}\n', *lines[2:]],
    "UNIQUE": lambda lines: [*lines[:2], *lines[1:]],
}


@pytest.mark.parametrize("said", HARMS)
async def test_a_harmed_export_says_where(database, tmp_path, said):
    source = tmp_path / "all.jsonl"
    SqliteFiles(database).export(source, check_progress)
    source.write_bytes(b"".join(HARMS[said](source.read_bytes().splitlines(keepends=True))))
    with pytest.raises(BrokenData, match=said):
        SqliteFiles(tmp_path / "new.db").restore(source, check_progress)
    assert not list(tmp_path.glob("new.db*")), "nor its lock file"


@pytest.mark.parametrize(
    "appended",
    [b"\0", b"\n", b"\n\n", b"x", b'{"client": {}}\n', b'{"end": {}}\n', b"\0" * 100_000],
    ids=lambda appended: repr(appended[:16]),
)
async def test_an_export_to_which_something_was_appended_is_refused(database, tmp_path, appended):
    source = tmp_path / "all.jsonl"
    SqliteFiles(database).export(source, check_progress)
    before, whole = read_tables(database), source.read_bytes()
    source.write_bytes(whole + appended)
    with pytest.raises(BrokenData, match=r"more follows this line.*fetch it again") as refusal:
        SqliteFiles(database).restore(source, check_progress, replace=True)
    assert refusal.value.line == whole.count(b"\n")
    assert read_tables(database) == before


async def test_a_database_in_use_is_neither_replaced_nor_compacted(path, tmp_path):
    store = make_store(path)
    await store.open()
    await record_pairs(store, ("u", "i"))
    SqliteFiles(path).backup(tmp_path / "copy.db", check_progress)
    for work in (
        lambda: SqliteFiles(path).restore(tmp_path / "copy.db", check_progress, replace=True),
        SqliteFiles(path).compact,
    ):
        with pytest.raises(StoreBusy):
            work()
    await store.close()


async def test_compacting_keeps_every_row_and_gives_room_back(path):
    store = make_store(path)
    await store.open()
    await fill_store(store, np.random.default_rng(4))
    await store.put_blob("large", b"x" * 3_000_000)
    await store.put_blob("large", b"")
    await store.close()
    before = read_tables(path)
    large, small = SqliteFiles(path).compact()
    assert small < large - 2_500_000
    assert path.stat().st_size == small
    assert read_tables(path) == before
    await (store := make_store(path)).open()
    assert await store.check() == []
    await store.close()


def test_nothing_overwrites_a_file_that_is_there(tmp_path, database):
    (tmp_path / "there").write_text("mine")
    for work in (SqliteFiles(database).backup, SqliteFiles(database).export):
        with pytest.raises(PropagationError, match="--force"):
            work(tmp_path / "there", check_progress)
        with pytest.raises(PropagationError):
            work(database, check_progress)
    assert (tmp_path / "there").read_text() == "mine"


def test_an_export_is_what_a_person_can_read(database, tmp_path):
    SqliteFiles(database).export(tmp_path / "all.jsonl", check_progress)
    rows = [orjson.loads(line) for line in (tmp_path / "all.jsonl").read_bytes().splitlines()]
    assert rows[0]["propagation"]["tables"]["client"][:3] == ["ref", "kind", "id"]
    bodies = [row["profile_version"]["body"] for row in rows if "profile_version" in row]
    assert bodies
    assert all(isinstance(lines, list) and isinstance(rules, list) for lines, rules in bodies)


@pytest.mark.parametrize("way", ["backup", "export"])
async def test_what_is_no_file_is_never_replaced(tmp_path, way):
    """A device, for who may write to /dev."""
    store = make_store(tmp_path / "graph.db")
    await store.open()
    await store.close()
    pipe, folder = tmp_path / "pipe", tmp_path / "folder"
    os.mkfifo(pipe)
    folder.mkdir()
    for target in (pipe, folder):
        for replace in (False, True):
            with pytest.raises(PropagationError, match="is not a regular file"):
                getattr(SqliteFiles(tmp_path / "graph.db"), way)(
                    target, check_progress, replace=replace
                )
    assert (pipe.is_fifo(), folder.is_dir()) == (True, True)


async def test_what_a_link_leads_to_is_replaced_and_the_link_stays(tmp_path):
    store = make_store(tmp_path / "graph.db")
    await store.open()
    await store.close()
    (tmp_path / "volume").mkdir()
    link, kept = tmp_path / "copy.db", tmp_path / "volume" / "copy.db"
    link.symlink_to(kept)
    files = SqliteFiles(tmp_path / "graph.db")
    files.backup(link, check_progress)
    assert kept.is_file()
    with pytest.raises(PropagationError, match="already exists"):
        files.backup(link, check_progress)
    files.backup(link, check_progress, replace=True)
    SqliteFiles(tmp_path / "graph.db").backup(tmp_path / "other.db", check_progress)
    SqliteFiles(link).restore(tmp_path / "other.db", check_progress, replace=True)
    assert (
        link.is_symlink(),
        [path.name for path in kept.parent.iterdir() if "lock" not in path.name],
    ) == (True, ["copy.db"])


@pytest.mark.parametrize("way", ["compact", "restore"])
async def test_nothing_takes_the_place_of_a_file_whose_log_somebody_reads(
    tmp_path, way, monkeypatch
):
    """The log cannot be folded into the file then, and must not go: it holds what was
    acknowledged."""
    monkeypatch.setattr(commands, "FOLD_MS", 50)
    path, copy = tmp_path / "graph.db", tmp_path / "copy.db"
    store = make_store(path)
    await store.open()
    await record_pairs(store, ("u", "before"))
    SqliteFiles(path).backup(copy, check_progress)
    reader = sqlite3.connect(path)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM interaction").fetchone()
    await record_pairs(store, *[("u", "i")] * 30)
    await store.close()
    whole = read_tables(path)
    replacing = (
        SqliteFiles(path).compact
        if way == "compact"
        else lambda: SqliteFiles(path).restore(copy, check_progress, replace=True)
    )
    with pytest.raises(StoreBusy, match="another program reads it"):
        replacing()
    assert read_tables(path) == whole
    assert SqliteFiles(path).list_leftovers() == []
    reader.close()
    replacing()
    assert (read_tables(path) == whole) == (way == "compact")
