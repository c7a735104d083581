"""What a caller is told until the engine is open."""

import pytest

from propagation.model.errors import StoreUnreachable
from services.runtime import readiness as readiness_module
from services.runtime.errors import Starting
from services.runtime.readiness import Readiness


def said_by(readiness):
    with pytest.raises(Starting) as refused:
        readiness.require()
    return str(refused.value)


async def test_it_waits_for_the_graphs_server_only_while_that_does_not_answer(monkeypatch):
    monkeypatch.setattr(readiness_module, "FIRST_PAUSE_SECONDS", 0.01)
    one, told = Readiness(), []

    async def answers_at_the_second_time():
        told.append(said_by(one))
        if len(told) == 1:
            raise StoreUnreachable("nobody at port 1")

    await one.reach(answers_at_the_second_time)
    told.append(said_by(one))
    assert "is starting" in told[0]
    assert "waits for its graph's server: nobody at port 1" in told[1]
    assert told[2] == told[0]
    one.declare()
    one.require()
