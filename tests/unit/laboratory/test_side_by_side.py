"""Methods that ask a model run side by side; nothing but the time depends on it."""

import asyncio

import numpy as np
import pytest

from propagation.laboratory.methods import Popularity, Random
from propagation.laboratory.protocols.one_of_twenty import OneOfTwenty
from propagation.laboratory.runs.side_by_side import run_side_by_side
from services.fake_llm.planted import PlantedAnswers
from services.fake_llm.script import Script
from tests.unit.laboratory.titled_data import (
    build_titled_dataset,
    find_right_items,
    planted_server,
    run_planted,
)

DATASET = build_titled_dataset(users=20, items=60, each=6)
PROTOCOL = OneOfTwenty()
PLANTED = PlantedAnswers(find_right_items(DATASET, PROTOCOL), knows=0.5)
NAMES = ["rec(pop)", "pop", "afl(pop)", "rec(random)", "random"]


@pytest.mark.slow
async def test_two_methods_fill_the_endpoint_and_equal_questions_are_asked_once(tmp_path):
    async with planted_server(PLANTED, Script(latency=0.1)) as server:
        await run_planted(tmp_path / "alone", DATASET, PROTOCOL, ["afl(pop)"], server)
        alone = dict(server.seen.calls)
        server.seen.calls.clear()
        parts, _ = await run_planted(
            tmp_path / "both", DATASET, PROTOCOL, ["afl(pop)", "rec(pop)"], server, in_flight=40
        )
        assert [part.method for part in parts] == ["afl(pop)", "rec(pop)"]
        assert server.seen.calls == alone, "the agent alone asks what the loop asks first"
        server.script = Script(latency=2.0)  # long enough for a busy machine to begin all calls
        await run_planted(
            *(tmp_path / "two", DATASET, PROTOCOL, ["rec(none)", "rec(random)"], server),
            in_flight=40,
        )
        assert server.seen.most_at_once > 20, "there are twenty users"


async def test_results_do_not_depend_on_what_runs_beside(tmp_path):
    async with planted_server(PLANTED, Script(latency=0.01)) as server:
        together, _ = await run_planted(
            tmp_path / "together", DATASET, PROTOCOL, NAMES, server, (1, 2)
        )
        for part in together:
            [alone], _ = await run_planted(
                tmp_path / f"{part.method} {part.seed}",
                *(DATASET, PROTOCOL, [part.method], server, (part.seed,)),
            )
            assert alone.version == part.version
            for name, values in part.values.items():
                assert np.array_equal(values, alone.values[name], equal_nan=True)


async def test_methods_with_scores_compute_one_after_the_other(tmp_path, monkeypatch):
    computing, most = 0, 0
    for kind in (Popularity, Random):

        async def score(self, history, questions, seed, inner=kind.score):
            nonlocal computing, most
            computing += 1
            most = max(most, computing)
            await asyncio.sleep(0.01)
            computing -= 1
            return await inner(self, history, questions, seed)

        monkeypatch.setattr(kind, "score", score)
    async with planted_server(PLANTED) as server:
        parts, _ = await run_planted(tmp_path / "run", DATASET, PROTOCOL, NAMES, server)
    assert len(parts) == len(NAMES)
    assert most == 1


async def test_a_part_that_cannot_go_on_ends_the_others():
    cancelled = []

    async def fail():
        raise OSError("no space")

    async def wait():
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.append(True)
            raise

    with pytest.raises(OSError, match="no space"):
        await run_side_by_side([wait], [wait, fail, wait])
    assert len(cancelled) == 3
