"""Learned blocks and checkpoints that were deleted or overwritten.

The start names the damage and the remedy, a rebuild, which makes the numbers again from the events.
"""

import os

import numpy as np
import pytest

from propagation.adapters.shared.learned_blocks import BYTES_PER_ROW, FORM
from propagation.adapters.sqlite.store import SqliteStore
from propagation.model import DamagedNumbers
from services.cli.operator.doctor import _check_store
from tests.neo4j_server.shared import get_shared_server
from tests.unit.workflow.small_database import STORES, create_clients, make_engine, record_history

pytestmark = pytest.mark.slow


def compute_places(size):
    """Return the byte at which each column of a packed block begins."""
    starts, start = {}, 0
    for name, dtype in FORM.items():
        starts[name] = start
        start += size * dtype.itemsize
    return starts


def overwrite(column, value):
    """Return a damage that overwrites the first value of a column."""

    def damage(columns, size):
        start, data = compute_places(size)[column], np.array(value, FORM[column].base).tobytes()
        return columns[:start] + data + columns[start + len(data) :]

    return damage


DAMAGES = {
    "garbage of the right length": lambda columns, size: os.urandom(len(columns)),
    "a block that was cut": lambda columns, size: columns[:99],
    "a sequence that does not ascend": overwrite("sequence", 1 << 60),
    "a sequence of another block": overwrite("sequence", 1),
    "a negative that is no item": overwrite("negatives", 1 << 30),
    "a negative below none": overwrite("negatives", -7),
    "a router that is not there": overwrite("routers", 65_535),
    "a weight that is no number": overwrite("weights", np.nan),
    "a lost block": None,
}
BEFORE, AFTER = range(2)


async def damage_block(store, through, damage):
    """Damage the block that ends at a sequence."""
    if isinstance(store, SqliteStore):

        def work(connection):
            size, columns = connection.execute(
                "SELECT size, columns FROM learned WHERE through = ?", (through,)
            ).fetchone()
            if damage is None:
                connection.execute("DELETE FROM learned WHERE through = ?", (through,))
            else:
                connection.execute(
                    "UPDATE learned SET columns = ? WHERE through = ?",
                    (damage(columns, size), through),
                )

        await store.database.write(work)
    elif damage is None:
        get_shared_server().run("MATCH (b:LearnedBlock {through: $t}) DELETE b", t=through)
    else:
        ((size, drawn, wrote),) = get_shared_server().run(
            "MATCH (b:LearnedBlock {through: $t}) RETURN b.size, b.drawn, b.wrote", t=through
        )
        columns = damage(bytes(drawn) + bytes(wrote), size)
        get_shared_server().run(
            "MATCH (b:LearnedBlock {through: $t}) SET b.drawn = $drawn, b.wrote = $wrote",
            t=through,
            drawn=columns[: len(drawn)],
            wrote=columns[len(drawn) :],
        )


@pytest.fixture(params=STORES)
async def blocks(request, tmp_path, monkeypatch):
    """Yield the learned blocks of a closed engine.

    Returns:
        (function that makes the engine again, last sequences of blocks before and after the
        barrier, numbers).
    """
    monkeypatch.setattr("services.cli.operator.doctor.PAUSE_SECONDS", 0.0)
    engine = make_engine(tmp_path, request.param)
    await engine.open()
    await create_clients(engine)
    await record_history(engine, 1, 60)
    await engine.init()
    barrier = (await engine.store.get_newest_checkpoint(barrier=True)).sequence
    await record_history(engine, 2, 90)
    learned = await engine.store.read_learned(0, 99)
    ends = (
        [one.through for one in learned if one.through <= barrier and len(one.sequence)],
        [one.through for one in learned if one.after >= barrier and len(one.sequence)],
    )
    assert len(ends[AFTER]) >= 3
    await engine.close()
    return lambda: make_engine(tmp_path, request.param), ends, engine.numbers.view


async def list_faults(make):
    store = make().store
    await store.open()
    try:
        return [f"{one.problem}; {one.remedy}" for one in await _check_store(store) if one.problem]
    finally:
        await store.close()


async def rebuild_numbers(make):
    """Rebuild as `propagation rebuild` does; return an engine opened on it."""
    engine = make()
    await engine.open(adopt=True)
    await engine.rebuild()
    await engine.close()
    engine = make()
    await engine.open()
    while await engine.learn():
        pass
    return engine


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
async def test_a_start_names_a_damaged_block_and_a_rebuild_repairs_it(blocks, damage):
    make, ends, before = blocks
    through = ends[AFTER][1]
    engine = make()
    await engine.open()
    await damage_block(engine.store, through, damage)
    await engine.close()
    with pytest.raises(DamagedNumbers, match=r"run `propagation rebuild`") as named:
        await (engine := make()).open()
    await engine.close()
    assert str(through if damage else ends[AFTER][0] + 1) in str(named.value)
    assert named.value.through == through
    engine = await rebuild_numbers(make)
    assert engine.applied_through >= before.applied_through
    assert engine.numbers.view.epoch == before.epoch, "what a barrier covers stays"
    adoptions = engine.numbers.view.state.adoptions
    assert adoptions.tolist() == before.state.adoptions.tolist()
    await record_history(engine, 3, 5)
    await engine.close()
    assert await list_faults(make) == []


@pytest.mark.parametrize(
    "damage",
    [DAMAGES[name] for name in ("garbage of the right length", "a block that was cut")] + [None],
    ids=["garbage", "cut", "lost"],
)
async def test_what_a_barrier_covers_is_learned_again_in_a_new_epoch(blocks, damage):
    make, ends, before = blocks
    engine = make()
    await engine.open()
    await damage_block(engine.store, ends[BEFORE][0], damage)
    await engine.close()
    found = await list_faults(make)
    assert any("run `propagation rebuild`" in fault for fault in found), found
    engine = await rebuild_numbers(make)
    assert engine.numbers.view.epoch == before.epoch + 1
    assert engine.numbers.view.state.totals.tolist() == before.state.totals.tolist()
    await engine.close()
    assert await list_faults(make) == []


async def test_the_last_blocks_that_were_lost_are_learned_again(blocks):
    make, ends, before = blocks
    engine = make()
    await engine.open()
    for through in ends[AFTER][-2:]:
        await damage_block(engine.store, through, None)
    for one in await engine.store.read_learned(ends[AFTER][-1], 9):
        await damage_block(engine.store, one.through, None)
    await engine.close()
    assert any("rebuild" in fault for fault in await list_faults(make))
    engine = await rebuild_numbers(make)
    assert engine.applied_through >= before.applied_through
    await engine.close()
    assert await list_faults(make) == []


@pytest.mark.parametrize("barrier", [True, False])
async def test_a_checkpoint_with_a_changed_byte_is_found_and_made_again(blocks, barrier):
    make, _, before = blocks
    engine = make()
    await engine.open()
    if not barrier:
        await engine.rebuild()
    on_sqlite = (
        "UPDATE checkpoint_part SET data = CAST(substr(data, 1, length(data) - 1) || x'07' AS BLOB)"
        " WHERE part = 0"
        " AND name = 'history' AND checkpoint = (SELECT max(id) FROM checkpoint)"
    )
    if isinstance(engine.store, SqliteStore):
        await engine.store.database.write(lambda connection: connection.execute(on_sqlite))
    else:
        ((id_, data),) = get_shared_server().run(
            "MATCH (p:CheckpointPart {name: 'history', part: 0})"
            " RETURN p.checkpoint, p.data ORDER BY p.checkpoint DESC LIMIT 1"
        )
        get_shared_server().run(
            "MATCH (p:CheckpointPart {name: 'history', part: 0, checkpoint: $id})"
            " SET p.data = $data",
            id=id_,
            data=bytes(data[:-1]) + b"\x07",
        )
    await engine.close()
    with pytest.raises(DamagedNumbers, match="history in a checkpoint"):
        await (engine := make()).open()
    await engine.close()
    found = await list_faults(make)  # doctor reads the newest checkpoint when it opens an engine
    assert any("history in a checkpoint" in fault for fault in found) or not barrier
    engine = await rebuild_numbers(make)
    assert engine.applied_through >= before.applied_through
    await engine.close()
    assert await list_faults(make) == []


def test_the_form_has_the_bytes_that_these_tests_write():
    assert sum(dtype.itemsize for dtype in FORM.values()) == BYTES_PER_ROW
