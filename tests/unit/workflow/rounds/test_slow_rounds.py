"""What goes on while a slow model writes the routers' texts of a round."""

import asyncio

from tests.unit.workflow.rounds.test_postponed_routers import open_engine, record_history


async def hold_round(engine):
    """Begin a round whose texts are written once the returned event is set."""
    asked, answering = asyncio.Event(), asyncio.Event()
    summarize = engine.reasoner.summarize

    async def wait_and_summarize(routers):
        asked.set()
        await answering.wait()
        return await summarize(routers)

    engine.reasoner.summarize = wait_and_summarize
    round_ = asyncio.create_task(engine.run_round())
    await asyncio.wait_for(asked.wait(), 10)
    return round_, answering


async def test_reasoning_goes_on_while_a_found_index_waits_for_the_end_of_a_round(tmp_path):
    async with open_engine(tmp_path) as engine:
        await record_history(engine)
        round_, answering = await hold_round(engine)
        engine.index_maintenance.put_off("the vector index was away")
        update = asyncio.create_task(engine.update_index())
        await asyncio.sleep(0.1)
        await asyncio.wait_for(engine.reason(), 5)
        answering.set()
        assert (await round_).touched > 0
        await update
        assert engine.index_problem
        await engine.update_index()
        assert not engine.index_problem


async def test_an_abandoned_round_is_as_if_it_had_not_begun(tmp_path):
    async with open_engine(tmp_path) as engine:
        await record_history(engine)
        before = await engine.store.get_last_round()
        round_, answering = await hold_round(engine)
        engine.rounds.abandon()
        assert await asyncio.wait_for(round_, 5) is None
        assert await engine.store.get_last_round() == before
        answering.set()
        assert (await engine.run_round()).touched > 0
        engine.rounds.abandon()
        assert await engine.run_round() is None, "without a round, nothing is abandoned"


async def test_a_cancelled_round_is_no_abandoned_one(tmp_path):
    async with open_engine(tmp_path) as engine:
        await record_history(engine)
        round_, _ = await hold_round(engine)
        round_.cancel()
        await asyncio.wait([round_])
        assert round_.cancelled()
