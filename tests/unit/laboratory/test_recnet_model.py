"""RecNet with a language model: what it asks, keeps and ranks, over a real server."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from propagation.laboratory.protocols.leave_one_out import LeaveOneOut
from propagation.laboratory.runs import (
    open_run,
    plan_run,
    read_parts,
    run_methods,
)
from propagation.workflow.reason import reasoning
from services.cli.research.datasets import check_events
from services.config.settings import Settings
from services.fake_llm.rule import read_data, write_scripted_answer
from services.fake_llm.script import Script
from services.fake_llm.server import FakeLLM, fake_llm
from services.laboratory.methods import build_methods
from services.laboratory.model import LabModel
from tests.unit.laboratory.lab_data import USERS, build_titled
from tests.unit.laboratory.titled_data import build_settings

pytestmark = pytest.mark.slow
DATASET = build_titled().first(3 * USERS)
PROTOCOL = LeaveOneOut()
KNOWN = len(DATASET) - USERS


class Planted(FakeLLM):
    """Ranks what has the user's genre first, or last; may lose parts of answers.

    Attributes:
        direction: 1: the user's genre first; -1: last; 0: no usable order.
        loses_lines: Whether the item's part of a backward answer is not usable.
        is_garbled: Whether no answer is usable.
    """

    direction = 1
    loses_lines = False
    is_garbled = False

    def write_answer(self, messages, response_format, *, obeying):
        answer = write_scripted_answer(messages, response_format, obeying=obeying)
        data = read_data(messages)
        if self.is_garbled and data:
            return {"word": "none"}
        if "candidates" in data:
            return {"ranking": {"order": self.order(data)}}
        if self.loses_lines and "outcome" in data:
            answer["chosen"] = "nothing"
        return answer

    def order(self, data):
        user = str(data["user"])
        genre = "jazz" if user.count("jazz") > user.count("folk") else "folk"
        shown = data["candidates"]
        order = sorted(
            map(int, shown), key=lambda one: -self.direction * (genre in str(shown[str(one)]))
        )
        return order if self.direction else order[:2]


async def run(folder, server, names=("recnet-paper",), **options):
    """Run methods with rounds that suit 54 clients.

    Returns:
        The parts, the outcome, and how many calls were estimated for each method.
    """
    model = LabModel(build_settings(server, **options), patience=0.0)
    workflow = Settings().workflow.model_copy(update={"update_size": 20})
    settings = Settings().model_copy(update={"workflow": workflow})
    methods = build_methods(names, DATASET, settings, check_events, model)
    history, targets = PROTOCOL.split(DATASET)
    estimated = [
        sum(one.calls for one in PROTOCOL.estimate(method, history, targets, 1))
        for method in methods
    ]
    with open_run(folder, plan_run("recnet/table3", DATASET, PROTOCOL)):
        async with model.open(folder):
            outcome = await run_methods(
                folder, DATASET, PROTOCOL, methods, [1], lambda *counts: None
            )
    return read_parts(folder, list(names)), outcome, estimated


def count(server):
    """Return the calls by prompt, without probes and pings."""
    return Counter(
        {name: calls for name, calls in server.seen.calls.items() if name not in ("probe", "ping")}
    )


def check_equal(part, other):
    for name, values in part.values.items():
        assert np.array_equal(values, other.values[name], equal_nan=True), name


async def test_a_second_run_asks_nothing_and_gives_the_same(tmp_path):
    async with fake_llm(Script(), kind=Planted) as server:
        server.loses_lines = True
        [part], outcome, _ = await run(tmp_path / "run", server)
        assert outcome.failed == {}
        asked = count(server)
        assert asked["rank"] == USERS
        assert asked["backward"] == 2 * KNOWN, "a lost part is asked for once more"
        assert asked["summarize"] > 0
        (tmp_path / "run" / "recnet-paper-1.npz").unlink()
        [again], _, _ = await run(tmp_path / "run", server, in_flight=3)
        assert count(server) == asked, "also answers of which a part was lost are kept"
    check_equal(part, again)
    assert part.measured.counts == {
        **again.measured.counts,
        "learning seconds": part.measured.counts["learning seconds"],
    }
    assert part.measured.counts["dead letters"] == 0
    assert part.measured.remark == "texts and rankings by planted"
    assert np.isnan(part.values["n10_of_100"]).all()


async def test_a_run_whose_budget_is_spent_goes_on_where_it_was(tmp_path):
    async with fake_llm(Script(), kind=Planted) as server:
        [whole], _, _ = await run(tmp_path / "whole", server)
        needed = count(server)
        stops = 0
        for _ in range(10):
            parts, outcome, _ = await run(
                tmp_path / "run", server, budget={"tokens_per_run": 110_000}
            )
            if parts:
                break
            stops += 1
            assert "the budget tokens_per_run of 110000 has" in outcome.failed["recnet-paper"]
            assert "the same command goes on there" in outcome.failed["recnet-paper"]
        assert stops
        assert count(server) == needed + needed, "no answered question was asked again"
    check_equal(whole, parts[0])


async def test_how_long_answers_take_changes_nothing(tmp_path, monkeypatch):
    async with fake_llm(Script(), kind=Planted) as server:
        [fast], _, _ = await run(tmp_path / "fast", server)
        monkeypatch.setattr(reasoning, "CLAIM_SECONDS", 0.0)  # as if each answer took longer
        [slow], _, _ = await run(tmp_path / "slow", server)
    check_equal(fast, slow)
    assert fast.measured.counts["rounds"] == slow.measured.counts["rounds"]


async def test_the_model_ranks(tmp_path):
    gains = {}
    async with fake_llm(Script(), kind=Planted) as server:
        for direction in (1, -1):
            server.direction = direction
            [part], _, _ = await run(tmp_path / str(direction), server)
            assert not part.values["invalid"].any()
            gains[direction] = part.values["n10"].mean()
    assert gains[1] > 0.55, "half of the candidates are of the other genre, and behind the target"
    assert gains[-1] < 0.4
    assert 0.45 < (gains[1] + gains[-1]) / 2 + 0.05 < 0.6


async def test_a_ranking_of_too_few_is_asked_for_once_more_and_counts_as_invalid(tmp_path):
    async with fake_llm(Script(), kind=Planted) as server:
        server.direction = 0
        [part], _, _ = await run(tmp_path / "run", server)
        assert count(server)["rank"] == 2 * USERS
    assert part.values["invalid"].all()
    assert not part.values["n10"].any()


async def test_a_model_without_usable_answers_ends_soon_and_is_asked_again_next_time(tmp_path):
    async with fake_llm(Script(), kind=Planted) as server:
        server.is_garbled = True
        parts, outcome, _ = await run(tmp_path / "run", server, in_flight=1, clients_a_call=1)
        assert parts == []
        reason = outcome.failed["recnet-paper"]
        assert "none of the first 12 answers of planted is usable" in reason
        assert count(server).total() <= 2 * 13
        server.is_garbled = False
        [part], outcome, _ = await run(tmp_path / "run", server)
    assert outcome.failed == {}
    assert not part.values["invalid"].any()


@pytest.mark.parametrize("name", ["recnet-paper", "recnet-no-buffer"])
async def test_what_is_asked_is_estimated_within_a_factor(tmp_path, name):
    async with fake_llm(Script(), kind=Planted) as server:
        _, _, [estimated] = await run(tmp_path / "run", server, [name])
        asked = count(server).total()
    assert asked / 1.5 < estimated < asked * 1.5


def test_without_a_model_the_offline_reasoner_stands_in_and_is_named(tmp_path: Path):
    [paper, live] = build_methods(["recnet-paper", "recnet"], DATASET, Settings(), check_events)
    assert not hasattr(paper, "estimate")
    assert "no language model" in paper.plan.remark
    assert "by default, without a language model" in live.plan.remark
