"""Parallel passes: results in order, common progress, and cancellation."""

import asyncio

import numpy as np
import pytest

from propagation.adapters.offline.embedder import HashedEmbedder
from propagation.evaluation.protocols import passes as module
from propagation.evaluation.protocols.passes import run_passes, schedule_prequential
from propagation.evaluation.stream import EvaluationSettings, Stream

EVENTS = 60
USER, ITEM = np.arange(EVENTS) % 4, np.arange(EVENTS) % 5
STREAM = Stream("s", [""] * 5, [""] * 5, USER, ITEM, *[np.arange(EVENTS)] * 2)


def run_all(monkeypatch, *passes, cores=None, progress=lambda done, total: None):
    """Run these functions in place of passes: the numbers of the seeds are their places."""

    def run_pass(stream, schedule, content, attributes, settings, seed, heard):
        return passes[seed](heard)

    monkeypatch.setattr(module, "run_pass", run_pass)
    monkeypatch.setattr(module, "count_usable_cores", lambda: cores or len(passes))
    return run_passes(
        STREAM,
        HashedEmbedder(0),
        EvaluationSettings(seeds=tuple(range(len(passes)))),
        lambda stream, seed: [schedule_prequential(stream, 1)],
        progress,
    )


def make_pass(name):
    def measure(heard):
        for done in range(1, EVENTS + 1):
            heard(done)
        return name

    return measure


def make_endless_pass(done):
    def measure(heard):
        while True:
            heard(len(done))
            done.append(1)

    return measure


async def is_standing_still(done):
    many = len(done)
    await asyncio.sleep(0.05)
    return len(done) == many


async def test_what_passes_measured_comes_back_in_their_order_and_all_are_heard_of(monkeypatch):
    heard = []
    names = [f"pass {number}" for number in range(5)]
    ranked, _ = await run_all(
        monkeypatch,
        *map(make_pass, names),
        cores=2,
        progress=lambda done, total: heard.append((done, total)),
    )
    assert ranked == names
    assert {total for _, total in heard} == {EVENTS * len(names)}
    assert max(done for done, _ in heard) == EVENTS * len(names)


async def test_a_pass_that_fails_takes_the_others_along(monkeypatch):
    def fail(heard):
        raise ValueError("nothing to rank")

    done = []
    with pytest.raises(ValueError, match="nothing to rank"):
        await run_all(monkeypatch, fail, make_endless_pass(done), make_endless_pass(done), cores=2)
    assert await is_standing_still(done)


async def test_who_is_cancelled_takes_the_passes_along(monkeypatch):
    done = []
    running = asyncio.create_task(run_all(monkeypatch, make_endless_pass(done)))
    while not done:  # noqa: ASYNC110 - another thread begins
        await asyncio.sleep(0.001)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert await is_standing_still(done)
