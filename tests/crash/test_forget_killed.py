"""ForgetClient killed inside: either not begun or completed at restart."""

import multiprocessing
import os
import signal

import pytest

from propagation.adapters.sqlite.forget.erasure import SqliteErasure
from propagation.adapters.sqlite.learn.checkpoints import SqliteCheckpoints
from propagation.workflow.forget.withdrawal import Withdrawer
from propagation.workflow.index.maintenance import IndexMaintenance
from propagation.workflow.learn.rebuild import rebuild_view
from tests.unit.workflow.learn.comparison import find_differing_arrays
from tests.unit.workflow.small_database import (
    create_clients,
    find_in_files,
    find_in_rows,
    find_strange_points,
    make_engine,
    record_history,
    user_key,
)

pytestmark = pytest.mark.slow

KEY = user_key(3)
STEPS = {
    "numbers": (Withdrawer, "_commit"),
    "barrier": (SqliteCheckpoints, "stage_checkpoint"),
    "commit": (SqliteErasure, "withdraw"),
    "index": (Withdrawer, "publish"),
    "wipe": (SqliteErasure, "wipe"),
}
BEFORE = ("numbers", "barrier", "commit")


class Killed(BaseException):
    """The process is gone at this step."""


async def prepare_engine(folder):
    engine = make_engine(folder)
    await engine.open()
    await create_clients(engine)
    events = await record_history(engine, 1, 60)
    return engine, [one.event_id for one in events if one.user_id == KEY.id]


async def assert_whole(engine, folder, mine, *, gone):
    words = [KEY.id, *mine]
    assert (await engine.store.find_refs([KEY]) == [None]) == gone
    assert await engine.store.check() == []
    view = await rebuild_view(engine.store, engine.embedder, engine.data.create_first_view())
    assert find_differing_arrays(view.state, engine.numbers.view.state) == []
    assert await engine.index_maintenance.repair() == 0
    assert await find_strange_points(engine) == []
    if gone:
        assert await find_in_rows(engine, words) == []
        assert find_in_files(folder, words) == []
    else:
        assert set(find_in_files(folder, words)) == set(words)


@pytest.mark.parametrize("step", STEPS)
async def test_a_process_that_stops_inside(tmp_path, monkeypatch, step):
    engine, mine = await prepare_engine(tmp_path)
    before = engine.numbers.view.state.adoptions.copy()

    async def raise_killed(*_, **__):
        raise Killed

    with monkeypatch.context() as broken:
        broken.setattr(*STEPS[step], raise_killed)
        with pytest.raises(Killed):
            await engine.forgetting.forget(KEY, wipe=True)
    await engine.store.close()  # the rest of the process is dropped as it is
    again = make_engine(tmp_path)
    await again.open()
    try:
        await assert_whole(again, tmp_path, mine, gone=step not in BEFORE)
        if step in BEFORE:
            assert (again.numbers.view.state.adoptions == before).all()
            assert (await again.forgetting.forget(KEY, wipe=True)).events_erased == len(mine)
            await assert_whole(again, tmp_path, mine, gone=True)
    finally:
        await again.close()


async def fail_reindex(*_, **__):
    raise AssertionError("the index need not be made again")


@pytest.mark.parametrize("dies", [False, True])
async def test_a_retraction_and_a_restart_without_making_the_index_again(
    tmp_path, monkeypatch, dies
):
    engine, mine = await prepare_engine(tmp_path)

    async def raise_killed(*_, **__):
        raise Killed

    with monkeypatch.context() as broken:
        if dies:
            broken.setattr(Withdrawer, "publish", raise_killed)
            with pytest.raises(Killed):
                await engine.forgetting.retract(mine)
        else:
            await engine.forgetting.retract(mine)
            assert (
                not await engine.index_maintenance.is_due()
            )  # takes out of the outbox what was shown
            assert await engine.store.count_changes() == 0, "the outbox is empty"
    assert bool(await find_strange_points(engine)) == dies, "old points stay only if it died"
    if dies:
        await engine.store.close()
    else:
        await engine.close()
    monkeypatch.setattr(IndexMaintenance, "reindex", fail_reindex)
    again = make_engine(tmp_path)
    await again.open()
    try:
        assert not await again.store.is_wiping_due(), "no wiping is due"
        assert await find_strange_points(again) == [], "no old point is left after the start"
        assert await again.index_maintenance.repair() == 0, "the index equals the graph"
        assert (await again.index_maintenance.is_due(), await again.store.count_changes()) == (
            False,
            0,
        ), "no maintenance is due"
    finally:
        await again.close()


@pytest.mark.parametrize("step", BEFORE)
async def test_a_process_that_fails_inside_and_lives_on(tmp_path, monkeypatch, step):
    engine, mine = await prepare_engine(tmp_path)

    async def raise_no_space(*_, **__):
        raise OSError("no space")

    with monkeypatch.context() as failing:
        failing.setattr(*STEPS[step], raise_no_space)
        with pytest.raises(OSError, match="no space"):
            await engine.forgetting.forget(KEY, wipe=True)
    try:
        await record_history(engine, 2, 30)
        await assert_whole(engine, tmp_path, mine, gone=False)
        await engine.forgetting.forget(KEY, wipe=True)
        await assert_whole(engine, tmp_path, mine, gone=True)
    finally:
        await engine.close()


def forget_and_die(folder, step):
    import asyncio

    async def die(*_, **__):
        os.kill(os.getpid(), signal.SIGKILL)

    async def run():
        engine, _ = await prepare_engine(folder)
        owner, name = STEPS[step]
        setattr(owner, name, die)
        await engine.forgetting.forget(KEY, wipe=True)

    asyncio.run(run())


@pytest.mark.parametrize("step", STEPS)
async def test_kill_9_inside(tmp_path, step):
    process = multiprocessing.get_context("spawn").Process(
        target=forget_and_die, args=(tmp_path, step)
    )
    process.start()
    process.join(120)
    assert process.exitcode == -signal.SIGKILL
    engine = make_engine(tmp_path)
    await engine.open()
    try:
        gone = step not in BEFORE
        assert (await engine.store.find_refs([KEY]) == [None]) == gone
        assert await engine.store.check() == []
        if not gone:
            await engine.forgetting.forget(KEY, wipe=True)
        assert find_in_files(tmp_path, [KEY.id]) == []
    finally:
        await engine.close()
