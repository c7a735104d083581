"""Readiness: the reason that calls get until the engine is open."""

import asyncio

import pytest

from propagation.model import StoreUnreachable
from services.runtime import readiness as readiness_module
from services.runtime.errors import Starting
from services.runtime.kernel_cache import StartCancelled
from services.runtime.readiness import Readiness


def catch_refusal(readiness):
    with pytest.raises(Starting) as refused:
        readiness.require()
    return str(refused.value)


async def test_the_reason_names_the_graphs_server_while_it_does_not_answer(monkeypatch):
    monkeypatch.setattr(readiness_module, "FIRST_PAUSE_SECONDS", 0.01)
    readiness, reasons = Readiness(), []

    async def open_at_the_second_attempt():
        reasons.append(catch_refusal(readiness))
        if len(reasons) == 1:
            raise StoreUnreachable("no answer at port 1")

    await readiness.reach(open_at_the_second_attempt)
    reasons.append(catch_refusal(readiness))
    assert "is starting" in reasons[0]
    assert "graph's server: no answer at port 1" in reasons[1]
    assert reasons[2] == reasons[0]
    readiness.declare()
    readiness.require()


async def test_a_start_that_waits_can_be_cancelled():
    stopping = asyncio.Event()

    async def fail():
        stopping.set()
        raise StoreUnreachable("no answer at port 1")

    with pytest.raises(StartCancelled):
        await Readiness(stopping).reach(fail)
