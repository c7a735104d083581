"""Propagation from client to client with a language model, over a real server.

Models with planted probabilities decide who hears what; the figures that follow by hand must agree
within three standard errors, and must not without the effect.
"""

import json
from hashlib import blake2b
from random import Random

import numpy as np
import pytest

from propagation.laboratory.protocols.drawn_negatives import draw_for_rankable
from propagation.laboratory.protocols.leave_one_out import LeaveOneOut
from propagation.laboratory.runs import open_run, plan_run, read_parts, run_methods
from services.cli.research.datasets import check_events
from services.config.settings import Settings
from services.fake_llm.rule import AGAIN, join_texts, read_data, write_scripted_answer
from services.fake_llm.script import Script
from services.fake_llm.server import FakeLLM, fake_llm
from services.laboratory.methods import build_methods
from services.laboratory.model import LabModel
from tests.unit.laboratory import test_recnet_model as with_routers
from tests.unit.laboratory.planted_agentcf import build_titled_dataset
from tests.unit.laboratory.titled_data import build_settings

pytestmark = pytest.mark.slow
USERS, ITEMS, EACH, NEGATIVES = 40, 40, 4, 9
DATASET = build_titled_dataset(USERS, ITEMS, EACH)
PROTOCOL = LeaveOneOut(NEGATIVES)
WORD = "zither"
EQUAL = 0.2
"""The largest share of questions that are equal to earlier ones, so that the server sees none."""
WAYS = ("recnet-em", "recnet-em-lr", "recnet-em-lr-ls", "recnet-no-router")


def is_marked(client):
    """A mark that half of the clients have, and nothing of the project knows."""
    profile = client.get("profile") or [""]
    first = profile["1"] if isinstance(profile, dict) else profile[0]
    return bool(blake2b(f"{client.get('title')} {first}".encode()).digest()[0] & 1)


class Planted(FakeLLM):
    """Selects, writes and ranks with planted probabilities.

    Attributes:
        marked: How often it selects marked clients only; else unmarked ones only. If there are too
            few of either, the answer is not usable, so that nobody hears anything.
        says: How often a text to clients has WORD.
        right: By the titles of candidates: the one that is right.
        heeds: How often it ranks the right item first for a user who has heard something; for
            others, and else, it ranks by chance.
        merged: For each message that was merged: whether its receiver is marked, and its text.
        selections: Whether each usable selection was of marked clients.
        written: Whether each text to clients has WORD.
    """

    marked = 0.5
    says = 0.0
    heeds = 0.0

    def __init__(self, script):
        super().__init__(script)
        self.right = {}
        self.merged = []
        self.selections = []
        self.written = []

    def write_answer(self, messages, response_format, *, obeying):
        data = read_data(messages)
        draw = Random(blake2b(json.dumps(data).encode(), digest_size=16).digest())
        if "may_hear" in data:
            return {"receivers": {"chosen": self.select(data, draw)}}
        if "will_hear" in data:
            self.written.append(draw.random() < self.says)
            return {"letter": {"text": f"There is more of {WORD if self.written[-1] else 'lute'}."}}
        if "candidates" in data:
            return {"ranking": {"order": self.rank(data, draw)}}
        # Some answers are asked for once more, which is not another message.
        is_first = not AGAIN.search(join_texts(messages))
        if is_first and "client" in data and "messages" in data and "outcome" not in data:
            heard = [one["says"] for one in data["messages"].values()]
            self.merged += [(is_marked(data["client"]), text) for text in heard]
        return write_scripted_answer(messages, response_format, obeying=obeying)

    def select(self, data, draw):
        wants = draw.random() < self.marked
        marks = {int(number): is_marked(one) for number, one in data["may_hear"].items()}
        groups = [
            [number for number, mark in marks.items() if mark is one] for one in (False, True)
        ]
        if min(map(len, groups)) < data["choose"]:
            return []
        self.selections.append(wants)
        return groups[wants][: data["choose"]]

    def rank(self, data, draw):
        order = [int(number) for number in data["candidates"]]
        draw.shuffle(order)
        titles = frozenset(one["title"] for one in data["candidates"].values())
        heard = "(heard)" in str(data["user"])
        if heard and draw.random() < self.heeds:
            order.sort(key=lambda one: data["candidates"][str(one)]["title"] != self.right[titles])
        return order


def find_right(seed=1):
    """By the titles of the drawn candidates, the title of the target."""
    history, targets = PROTOCOL.split(DATASET)
    _, some, drawn = draw_for_rankable(history, targets, NEGATIVES, seed)
    titles = [item.title for item in DATASET.items]
    right = {
        frozenset(titles[item] for item in row): titles[target]
        for row, target in zip(drawn.items.tolist(), some.item.tolist(), strict=True)
    }
    assert len(right) == USERS, "no two users have the same candidates"
    return right


async def run(folder, name, **planted):
    """Run one method; return its part and the server."""
    async with fake_llm(Script(), kind=Planted) as server:
        for attribute, value in planted.items():
            setattr(server, attribute, value)
        model = LabModel(build_settings(server), patience=0.0)
        methods = build_methods([name], DATASET, Settings(), check_events, model)
        with open_run(folder, plan_run("recnet/table4", DATASET, PROTOCOL)):
            async with model.open(folder):
                outcome = await run_methods(
                    folder, DATASET, PROTOCOL, methods, [1], lambda *counts: None
                )
        assert outcome == ({}, {}, [])
    [part] = read_parts(folder, [name])
    return part, server


def agrees(hits, expected):
    """Whether a share is as expected within three standard errors."""
    hits = np.asarray(hits, np.float64)
    error = hits.std(ddof=1) / np.sqrt(len(hits))
    return abs(hits.mean() - expected) <= 3 * error + 1e-9


def count_marked(server):
    """The share of messages that went to marked clients."""
    return np.mean([mark for mark, _ in server.merged])


def is_within(share, expected, units):
    """Whether a share of messages is as expected within three standard errors.

    Args:
        units: How many selections or texts were drawn. Each stands behind three messages, which
            are therefore not independent.
    """
    return abs(share - expected) <= 3 * np.sqrt(expected * (1 - expected) / units)


async def test_the_model_decides_who_hears(tmp_path):
    """A selection of marked clients with probability q: q of the messages go to such."""
    q = 0.8
    part, server = await run(tmp_path / "with", "recnet-em-lr", marked=q)
    assert len(server.selections) > 100
    assert agrees(server.selections, q)
    assert len(server.merged) == pytest.approx(part.measured.counts["messages"], rel=EQUAL)
    assert is_within(count_marked(server), q, len(server.selections))
    _, indifferent = await run(tmp_path / "half", "recnet-em-lr", marked=0.5)
    assert not is_within(count_marked(indifferent), q, len(indifferent.selections))
    _, nearest = await run(tmp_path / "em", "recnet-em", marked=q)
    assert not is_within(count_marked(nearest), q, len(server.selections)), "nobody was asked"


@pytest.mark.parametrize(("name", "texts"), [("recnet-em-lr-ls", 1), ("recnet-no-router", 3)])
async def test_the_model_decides_what_is_heard(tmp_path, name, texts):
    """A text has a word with probability q: q of the messages have it."""
    q = 0.3
    part, server = await run(tmp_path / "with", name, says=q)
    counts = part.measured.counts
    assert counts["questions: write to clients"] == texts * counts["messages"] / 3
    assert len(server.written) == pytest.approx(counts["questions: write to clients"], rel=EQUAL)
    assert len(server.merged) == pytest.approx(counts["messages"], rel=EQUAL)
    words = [WORD in text for _, text in server.merged]
    assert agrees(server.written, q)
    assert is_within(np.mean(words), q, len(server.written))
    _, silent = await run(tmp_path / "without", name, says=0.0)
    assert not any(WORD in text for _, text in silent.merged)


async def test_what_is_heard_reaches_the_ranking(tmp_path):
    """N@1 of q + (1 - q) / 10 with something heard, and of 1 / 10 without."""
    q = 0.7
    expected, chance = q + (1 - q) / (NEGATIVES + 1), 1 / (NEGATIVES + 1)
    right = find_right()
    part, _ = await run(tmp_path / "em", "recnet-em", heeds=q, right=right)
    assert agrees(part.values["n1"], expected)
    alone, _ = await run(tmp_path / "alone", "recnet-alone", heeds=q, right=right)
    assert agrees(alone.values["n1"], chance)
    assert not agrees(alone.values["n1"], expected)


@pytest.mark.parametrize("name", WAYS)
async def test_what_is_asked_is_estimated_within_a_factor(tmp_path, name):
    async with fake_llm(Script(), kind=with_routers.Planted) as server:
        _, _, [estimated] = await with_routers.run(tmp_path / "run", server, [name])
        asked = with_routers.count(server).total()
    assert asked / 1.5 < estimated < asked * 1.5


async def test_a_run_that_is_stopped_goes_on_and_pays_nothing_twice(tmp_path):
    name = "recnet-em-lr-ls"
    async with fake_llm(Script(), kind=with_routers.Planted) as server:
        [whole], _, _ = await with_routers.run(tmp_path / "whole", server, [name])
        needed = with_routers.count(server)
        assert {"select_receivers", "write_to_clients"} <= needed.keys()
        stops = 0
        for _ in range(20):
            parts, outcome, _ = await with_routers.run(
                tmp_path / "run", server, [name], budget={"tokens_per_run": 110_000}
            )
            if parts:
                break
            stops += 1
            assert "the same command goes on there" in outcome.failed[name]
        assert stops
        assert with_routers.count(server) == needed + needed, "no answered question was asked again"
    with_routers.check_equal(whole, parts[0])
