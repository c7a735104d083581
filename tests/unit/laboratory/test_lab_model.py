"""The model of a run: answers are kept, and what goes wrong is said in a sentence."""

import asyncio
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from propagation.laboratory.methods import Popularity
from propagation.laboratory.protocols.leave_one_out import LeaveOneOut
from propagation.laboratory.protocols.one_of_twenty import OneOfTwenty
from propagation.laboratory.runs import open_run, plan_run, run_methods
from services.fake_llm.planted import PlantedAnswers
from services.fake_llm.script import Script
from services.laboratory.costs import describe_costs, estimate_parts, look_up_answers
from services.laboratory.model import LabModel
from services.laboratory.progress import RunProgress
from tests.unit.laboratory.titled_data import (
    build_asking,
    build_settings,
    build_titled_dataset,
    find_right_items,
    planted_server,
    run_planted,
)

DATASET = build_titled_dataset(users=20, items=60, each=6)
PROTOCOL = OneOfTwenty()
NOWHERE = SimpleNamespace(base_url="http://127.0.0.1:9/v1")
PLANTED = PlantedAnswers(find_right_items(DATASET, PROTOCOL), knows=0.5)


def count(server):
    return sum(number for name, number in server.seen.calls.items() if name != "probe")


async def test_no_answered_question_is_asked_again(tmp_path):
    async with planted_server(PLANTED) as server:
        parts, _ = await run_planted(tmp_path / "run", DATASET, PROTOCOL, ["afl(pop)"], server)
        calls = count(server)
        (tmp_path / "run" / "afl(pop)-1.npz").unlink()
        again, _ = await run_planted(tmp_path / "run", DATASET, PROTOCOL, ["afl(pop)"], server)
        assert count(server) == calls
    for name, values in parts[0].values.items():
        assert np.array_equal(values, again[0].values[name], equal_nan=True)


async def test_an_unusable_answer_is_paid_for_once_and_stays_unusable(tmp_path):
    planted = replace(PLANTED, unusable=0.4)
    async with planted_server(planted) as server:
        parts, _ = await run_planted(tmp_path / "run", DATASET, PROTOCOL, ["rec(pop)"], server)
        calls = count(server)
        invalid = parts[0].values["invalid"]
        assert 0 < invalid.sum() < len(invalid)
        assert calls == len(invalid) + invalid.sum(), "each of them was asked for once more"
        (tmp_path / "run" / "rec(pop)-1.npz").unlink()
        again, _ = await run_planted(tmp_path / "run", DATASET, PROTOCOL, ["rec(pop)"], server)
        assert count(server) == calls
    assert np.array_equal(invalid, again[0].values["invalid"])


async def test_a_model_without_usable_answers_ends_soon_and_is_asked_again_next_time(tmp_path):
    async with planted_server(replace(PLANTED, unusable=1.0)) as server:
        parts, outcome = await run_planted(
            tmp_path / "run", DATASET, PROTOCOL, ["rec(pop)", "pop"], server, in_flight=1
        )
        assert [part.method for part in parts] == ["pop"], "the others run"
        reason = outcome.failed["rec(pop)"]
        assert "none of the first 12 answers of planted is usable" in reason
        assert count(server) <= 2 * (12 + 2), "twice for each answer, and two more were begun"
        server.planted = PLANTED
        parts, outcome = await run_planted(
            tmp_path / "run", DATASET, PROTOCOL, ["rec(pop)"], server
        )
    assert outcome.failed == {}
    assert not parts[0].values["invalid"].any()


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"budget": {"tokens_per_run": 8_000}}, "the budget tokens_per_run of 8000 has"),
        ({"attempts": 1, "base_url": "http://127.0.0.1:9/v1"}, "every call to the endpoint fails"),
    ],
)
async def test_a_spent_budget_and_a_server_that_is_down_are_one_sentence(tmp_path, options, reason):
    async with planted_server(PLANTED) as server:
        _, outcome = await run_planted(
            tmp_path / "run", DATASET, PROTOCOL, ["rec(pop)", "afl(pop)"], server, **options
        )
        [sentence] = set(outcome.failed.values())
        assert reason in sentence
        assert "what was answered is kept, and the same command goes on there" in sentence
        paid = count(server)
        assert paid == 0 or "budget" in options
        parts, outcome = await run_planted(
            tmp_path / "run", DATASET, PROTOCOL, ["rec(pop)"], server
        )
        assert outcome.failed == {}
        # The loop may have come to its second question, which the agent alone does not ask.
        asked = server.seen.calls["afl_recommend"]
        assert asked == len(parts[0].target), "what was paid for is not asked again"


async def test_a_model_of_another_name_answers_anew(tmp_path):
    async with planted_server(PLANTED) as server:
        await run_planted(tmp_path / "run", DATASET, PROTOCOL, ["rec(pop)"], server)
        calls = count(server)
        _, outcome = await run_planted(
            tmp_path / "run", DATASET, PROTOCOL, ["rec(pop)"], server, model="other"
        )
        assert count(server) == 2 * calls
    assert outcome.repeated == ["rec(pop)"]


async def test_a_server_that_fails_for_a_moment_is_asked_again(tmp_path):
    async with planted_server(PLANTED, Script(faults={"500": 1.0})) as server:
        model = LabModel(build_settings(server, attempts=1), patience=30.0)
        [method] = build_asking(["llmrank"], DATASET, model)
        history, targets = PROTOCOL.split(DATASET)
        (tmp_path / "run").mkdir()

        async def recover():
            await asyncio.sleep(0.5)
            server.script = Script()

        async with model.open(tmp_path / "run"), asyncio.TaskGroup() as group:
            group.create_task(recover())
            values = await LeaveOneOut().run(method, history, targets, 1)
    assert not values["invalid"].any()


async def test_costs_are_described_before_and_progress_counts_calls(tmp_path):
    async with planted_server(PLANTED, Script(latency=0.05)) as server:
        prices = {"price_prompt": 2.0, "price_completion": 8.0}
        model = LabModel(build_settings(server, **prices))
        methods = build_asking(["pop", "rec(pop)", "afl(pop)"], DATASET, model)
        folder = tmp_path / "run"
        parts = sorted(
            estimate_parts(folder, DATASET, PROTOCOL, methods, [1, 2]), key=lambda part: part.total
        )
        assert [part.total for part in parts] == [0, 0, 20, 20, 140, 140]
        first, second, everything, _ = describe_costs(parts, model, None)
        assert first.startswith("rec(pop): about 40 calls,")
        assert second.startswith("afl(pop): about 280 calls,")
        sent = sum(one.prompt_tokens for part in parts for one in part.calls)
        answered = sum(one.answer_tokens for part in parts for one in part.calls)
        assert f"money {(2 * sent + 8 * answered) / 1e6:.2f}" in everything
        assert "time not known before planted has answered, 20 calls at a time" in everything

        seen = []
        await run_planted(folder, DATASET, PROTOCOL, ["rec(pop)"], server, (1, 2), **prices)
        parts = sorted(
            estimate_parts(folder, DATASET, PROTOCOL, methods, [1, 2]), key=lambda part: part.total
        )
        assert [part.total for part in parts] == [0, 0, 0, 0, 140, 140], "the rest is done"
        pace = await model.read_pace(folder)
        assert pace > 0.05, "the server's own time; a busy machine adds to it"
        assert f"about {280 * pace / 20:.0f} s" in describe_costs(parts, model, pace)[-2]

        progress = RunProgress(parts, model, lambda *shown: seen.append(shown))
        ended = [(part.method, part.seed) for part in parts]
        progress.count_parts(ended[:4], 6)
        progress.count_call("afl(pop)")
        progress.count_parts(ended[:5], 6)
        progress.count_parts(ended, 6)
    assert seen == [
        (0, 280, " afl(pop), seed 1"),
        (1, 280, " afl(pop), seed 1"),
        (140, 280, " afl(pop), seed 2"),
        (280, 280, ""),
    ]


async def test_the_estimate_of_a_run_that_goes_on_subtracts_kept_answers(tmp_path):
    """A result that is gone costs nothing again, and a part that was stopped only what is left."""
    folder, prices = tmp_path / "run", {"price_prompt": 2.0, "price_completion": 8.0}
    async with planted_server(PLANTED) as server:
        model = LabModel(build_settings(server, **prices))

        async def estimate(seeds, names=("rec(pop)",)):
            methods = build_asking(names, DATASET, model)
            parts = estimate_parts(folder, DATASET, PROTOCOL, methods, seeds)
            return await look_up_answers(parts, model, folder)

        [before] = await estimate([1])
        assert (before.total, before.answered, before.rest) == (20, {}, before.calls)
        await run_planted(folder, DATASET, PROTOCOL, ["rec(pop)"], server, **prices)
        (folder / "rec(pop)-1.npz").unlink()
        [after] = await estimate([1])
        [label] = after.answered
        assert (after.total, after.answered) == (20, {label: 20})
        assert [(one.calls, one.prompt_tokens, one.answer_tokens) for one in after.rest] == [
            (0, 0, 0)
        ]
        [line, everything, _] = describe_costs([after], model, 0.5)
        assert line == (
            "rec(pop): about 0 calls, 0 tokens sent, 0 answered, money 0.00, besides 20 kept"
            " answers at no cost"
        )
        assert everything.endswith("; about 0 s")

        stopped = build_settings(server, **prices, budget={"tokens_per_run": 4_000}, in_flight=2)
        methods = build_asking(["rec(pop)"], DATASET, poor := LabModel(stopped, patience=0.0))
        asked = count(server)
        with open_run(folder, plan_run("afl/test", DATASET, PROTOCOL)):
            async with poor.open(folder):
                outcome = await run_methods(
                    folder, DATASET, PROTOCOL, methods, [2], lambda *_: None
                )
        assert "the budget tokens_per_run" in outcome.failed["rec(pop)"]
        answered = count(server) - asked
        first, second = await estimate([1, 2])
        assert 0 < answered < 20
        assert first.answered == {label: 20}
        assert second.answered == {label: answered}
        [rest] = second.rest
        share = 1 - answered / 20
        [whole] = second.calls
        assert rest.calls == 20 - answered
        assert rest.prompt_tokens == round(share * whole.prompt_tokens)
        line = describe_costs([first, second], model, None)[0]
        assert f"rec(pop): about {rest.calls} calls" in line or rest.calls == 1
        money = (2 * rest.prompt_tokens + 8 * rest.answer_tokens) / 1e6
        assert f"money {money:.2f}" in line
        assert line.endswith(f", besides {20 + answered} kept answers at no cost")


async def test_users_are_asked_at_the_same_time_up_to_the_limit(tmp_path):
    async with planted_server(PLANTED, Script(latency=0.4)) as server:
        await run_planted(tmp_path / "run", DATASET, PROTOCOL, ["rec(pop)"], server, in_flight=7)
        assert server.seen.most_at_once == 7


async def test_a_base_model_learns_once_for_itself_and_all_agents_around_it(tmp_path, monkeypatch):
    learned = []
    right = Popularity.score

    async def score(self, history, questions, seed):
        learned.append(seed)
        return await right(self, history, questions, seed)

    alone, _ = await run_planted(tmp_path / "alone", DATASET, PROTOCOL, ["pop"], NOWHERE, (1, 2))
    monkeypatch.setattr(Popularity, "score", score)
    async with planted_server(PLANTED) as server:
        names = ["pop", "rec(pop)", "afl(pop)"]
        parts, _ = await run_planted(tmp_path / "run", DATASET, PROTOCOL, names, server, (1, 2))
    assert learned == [1, 2]
    for part, same in zip(alone, parts, strict=False):
        assert (part.method, part.seed, part.version) == (same.method, same.seed, same.version)
        for name, values in part.values.items():
            assert np.array_equal(values, same.values[name])
