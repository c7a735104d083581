"""The times of a resumed evaluation add up over its runs, and so do its costs."""

import asyncio

import pytest

from propagation.adapters.sqlite.store import SqliteStore
from propagation.evaluation.protocols import reasoner_ranking as module
from propagation.evaluation.protocols.reasoner_ranking import (
    ByReasonerReport,
    NamedPromptCost,
    time_run,
)
from services.cli.research.protocols import build_reasoner_outcome
from services.runtime.process import SystemClock


async def test_seconds_are_summed_over_runs_whatever_ended_them(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "WRITE_SECONDS", 0.02)
    store = SqliteStore(tmp_path / "graph.db", SystemClock())
    await store.open()
    try:
        async with time_run(store):
            await asyncio.sleep(0.2)
            written = await store.get_blob(module.PLACE)
        assert written is not None
        await store.put_blob(module.PLACE, written)  # as a kill leaves it
        second = time_run(store)
        times = await second.__aenter__()
        assert times.runs == 2
        assert times.before >= 0.1
        await asyncio.sleep(0.1)
        assert not await second.__aexit__(KeyboardInterrupt, KeyboardInterrupt(), None)
        async with time_run(store) as third:
            assert third.runs == 3
            assert third.seconds_in_all >= third.seconds + times.before + 0.1
    finally:
        await store.close()


@pytest.mark.parametrize("runs", [1, 3])
def test_the_text_says_what_is_of_all_runs_and_what_of_the_last(capsys, runs):
    def cost(calls):
        return [
            NamedPromptCost(
                prompt="rank@2",
                calls=calls,
                cached=0,
                lost=0,
                prompt_tokens=1,
                completion_tokens=1,
                seconds=1,
                money=0,
            )
        ]

    build_reasoner_outcome(
        ByReasonerReport(
            dataset="small",
            reasoner="scripted",
            users=1,
            learned=1,
            dead_letters=0,
            draws=[],
            cost=cost(71),
            cost_in_all=cost(422),
            seconds=12,
            seconds_in_all=34,
            runs=runs,
            commit="abc",
        )
    ).show()
    said = capsys.readouterr().out
    assert (
        "What all 3 runs cost" in said,
        "422" in said,
        "34 s in 3 runs" in said,
        "12 s in the last" in said,
    ) == (runs == 3,) * 4
    assert ("What this run cost" in said) == (runs == 1)
    assert "71" in said
