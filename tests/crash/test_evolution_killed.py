"""Evolution killed in the middle did not happen; killed after its commit it did, whole, and the
next start finishes what lagged."""

import multiprocessing
import os
import signal

import pytest

from propagation.optimization.holdout_judge import Verdict
from propagation.workflow.learn.rebuild import rebuild_view
from tests.unit.workflow.evolve.planted_communities import (
    STYLES,
    draw_events,
    make_engine,
    open_with_history,
    push,
)
from tests.unit.workflow.learn.comparison import find_differing_arrays

pytestmark = pytest.mark.slow

BEFORE = ("stage_checkpoint", "stage_edges", "stage_routers")
AFTER = "publish_evolution"


def evolve_and_die(folder, step):
    """Killed just before a step of the store, or just after the publication's commit."""
    import asyncio

    async def run():
        engine = make_engine(folder / "graph.db")
        await open_with_history(
            engine, STYLES[:3], 600, loyal=1.0
        )  # enough to tell three communities apart
        found = getattr(engine.store, step)

        async def die(*arguments, **named):
            if step == AFTER:
                await found(*arguments, **named)
            os.kill(os.getpid(), signal.SIGKILL)

        setattr(engine.store, step, die)
        setattr(Verdict, "published", True)  # noqa: B010  # thirty users are too few for it to tell
        await engine.evolve()

    asyncio.run(run())


@pytest.mark.parametrize("step", [*BEFORE, AFTER])
async def test_kill_9_inside_an_evolution_leaves_the_old_or_the_new_epoch_whole(tmp_path, step):
    process = multiprocessing.get_context("spawn").Process(
        target=evolve_and_die, args=(tmp_path, step)
    )
    process.start()
    process.join(240)
    assert process.exitcode == -signal.SIGKILL, "it was killed at the step"
    engine = make_engine(tmp_path / "graph.db")
    await engine.open()
    try:
        store, happened = engine.store, step == AFTER
        epoch = await store.get_current_epoch()
        assert epoch.number == 1 + happened, "the old epoch or the new one"
        assert [run.published for run in await store.get_evolution_runs(9)] == [True] * happened, (
            "the run is listed if it went live"
        )
        assert len((await store.get_router_maps()).maps) == happened, "so is its map"
        assert engine.numbers.view.epoch == epoch.number, "the numbers are of that epoch"
        view = await rebuild_view(store, engine.embedder, engine.data.create_first_view())
        assert find_differing_arrays(view.state, engine.numbers.view.state) == [], (
            "and equal a rebuild"
        )
        assert await engine.index_maintenance.repair() == 0, "the index equals the graph"
        await push(engine, draw_events(STYLES[:3], 40, seed=4))
        assert await store.check() == [], "the graph is sound"
        assert (await engine.evolve()).verdict, "the next run works"
    finally:
        await engine.close()
