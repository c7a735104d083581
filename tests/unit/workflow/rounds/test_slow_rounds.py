"""What goes on while a slow model writes the routers' texts of a round."""

import asyncio

import pytest

from propagation.model import RoundAbandoned
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
        with engine.rounds.give_way("the epoch"):
            with pytest.raises(RoundAbandoned, match=r"^the epoch$"):
                await asyncio.wait_for(round_, 5)
            assert await engine.store.get_last_round() == before
        answering.set()
        assert (await engine.run_round()).touched > 0
        with engine.rounds.give_way("the epoch"):
            pass
        assert await engine.run_round() is None, "nothing had changed"


async def test_a_round_that_waits_behind_an_abandoned_one_gives_way_too(tmp_path):
    async with open_engine(tmp_path) as engine:
        await record_history(engine)
        round_, answering = await hold_round(engine)
        queued = asyncio.create_task(engine.run_round())
        await asyncio.sleep(0.1)
        with engine.rounds.give_way("the epoch"):
            ended = asyncio.gather(round_, queued, return_exceptions=True)
            abandoned, never_begun = await asyncio.wait_for(ended, 5)
        assert isinstance(abandoned, RoundAbandoned)
        assert never_begun is None
        assert await engine.store.get_last_round() is None
        answering.set()
        assert (await engine.run_round()).touched > 0


async def test_a_round_that_publishes_is_not_abandoned(tmp_path):
    async with open_engine(tmp_path) as engine:
        await record_history(engine)
        publish, durable, ending = engine.store.publish_round, asyncio.Event(), asyncio.Event()

        async def publish_and_wait(*args):
            published = await publish(*args)
            durable.set()
            await ending.wait()
            return published

        engine.store.publish_round = publish_and_wait
        round_ = asyncio.create_task(engine.run_round())
        await asyncio.wait_for(durable.wait(), 10)
        with engine.rounds.give_way("the epoch"):
            await asyncio.sleep(0.1)
            assert not round_.done()
            ending.set()
            done = await asyncio.wait_for(round_, 5)
        assert done == await engine.store.get_last_round()
        assert engine.rounds._vectors.canonical.round == done.number


async def test_a_cancelled_round_is_no_abandoned_one(tmp_path):
    async with open_engine(tmp_path) as engine:
        await record_history(engine)
        round_, _ = await hold_round(engine)
        round_.cancel()
        await asyncio.wait([round_])
        assert round_.cancelled()
