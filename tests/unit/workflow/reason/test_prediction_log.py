"""Predictions of all processes add up in the graph, and a verdict is logged once."""

import logging

import orjson
import pytest

from propagation.adapters.offline.reasoner import OfflineReasoner
from propagation.adapters.sqlite.store import SqliteStore
from propagation.model import PropagationError, ReasonedInteraction
from propagation.optimization.prediction_quality import Judgement
from propagation.workflow.concurrency import Leases
from propagation.workflow.reason import prediction_log
from propagation.workflow.reason.prediction_log import PLACE, PredictionLog
from services.runtime.process import SystemClock
from tests.unit.optimization.test_prediction_quality import SEED, is_positive_first


class Model(OfflineReasoner):
    name = predictor = "openai:m"


@pytest.fixture
async def store(tmp_path):
    opened = SqliteStore(tmp_path / "graph.db", SystemClock())
    await opened.open()
    yield opened
    await opened.close()


@pytest.fixture(autouse=True)
def _save_at_once(monkeypatch):
    monkeypatch.setattr(prediction_log, "SAVE_SECONDS", 0.0)


def open_log(store, process="a"):
    return PredictionLog(store, Model(), Leases(store, process, 10), SEED)


def take_first(sequences, **fields):
    return [
        ReasonedInteraction(
            sequence=sequence, user=0, reward=int(is_positive_first(sequence, SEED)), **fields
        )
        for sequence in sequences
    ]


async def test_what_two_processes_predict_adds_up_and_stays_after_a_restart(store, caplog):
    caplog.set_level(logging.WARNING)
    here, there = open_log(store), open_log(store, "b")
    here.note(take_first(range(120)))
    there.note(take_first(range(120, 240)))
    assert [one.counts.predictions for one in await here.read()] == [120]
    await here.save()
    await there.save()
    assert len(caplog.messages) == 1
    assert "openai:m answers by place" in caplog.text
    assert "openai.predict=offline" in caplog.text
    for log in (here, there, open_log(store, "c")):
        [record] = await log.read()
        assert (record.counts.predictions, record.counts.first) == (240, 240)
        assert record.judgement is Judgement.BY_PLACE
        assert record.warning in caplog.text
    here.note(take_first(range(240, 300)))
    await here.save()
    after = open_log(store, "d")
    after.note(take_first(range(300, 400)))
    await after.save(closing=True)
    assert len(caplog.messages) == 1, "it is said once"


async def test_only_the_last_thousand_count(store):
    log = open_log(store)
    log.note(take_first(range(900)))
    await log.save()
    log.note([ReasonedInteraction(sequence=n, user=0, reward=1) for n in range(900, 1_900)])
    await log.save()
    [record] = await log.read()
    assert (record.counts.predictions, record.counts.right) == (1_000, 1_000)
    assert record.judgement is Judgement.ABOVE_CHANCE


async def test_each_predictor_has_a_record_and_failures_have_none(store):
    log = open_log(store)
    log.note(take_first(range(10), predicted_by="offline-1"))
    log.note(take_first(range(20)))
    log.note([ReasonedInteraction(sequence=1, user=0), *take_first([2], failure="no answer")])
    assert [(one.name, one.counts.predictions) for one in await log.read()] == [
        ("openai:m", 20),
        ("offline-1", 10),
    ]


async def test_what_could_not_be_saved_is_saved_later(store, monkeypatch):
    log = open_log(store)
    log.note(take_first(range(10)))

    async def refuse(*_):
        raise PropagationError("no")

    with monkeypatch.context() as broken:
        broken.setattr(store, "put_blob", refuse, raising=False)
        await log.save()
    log.note(take_first(range(10, 15)))
    held = await store.acquire_lease(PLACE, "other", 10_000)
    await log.save()
    await store.release_lease(held)
    await log.save()
    assert [one.counts.predictions for one in await open_log(store).read()] == [15]


async def test_what_is_kept_are_digits(store):
    log = open_log(store)
    log.note(take_first(range(30)))
    await log.save()
    kept = orjson.loads(await store.get_blob(PLACE))
    assert kept["said"] == []
    assert list(kept["predictions"]) == ["openai:m"]
    assert set(kept["predictions"]["openai:m"]) <= set("0123")
