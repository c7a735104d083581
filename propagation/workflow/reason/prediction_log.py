"""The last predictions of each predictor, shared by all processes.

They are kept in the graph as digits, without sequences, clients or texts.
"""

import asyncio
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from propagation.model import PropagationError, ReasonedInteraction
from propagation.optimization.prediction_quality import (
    RECENT_PREDICTIONS,
    Judgement,
    PredictionCounts,
    count_predictions,
    describe_judgement,
    encode_prediction,
    judge_predictions,
)
from propagation.ports import GraphStore, Reasoner
from propagation.workflow.concurrency import Leases

PLACE = LEASE = "predictions"
SAVE_SECONDS, CLOSING_WAIT_SECONDS = 5.0, 2.0
ADVICE = "; with the setting openai.predict=offline the offline reasoner predicts in its stead"
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class PredictorRecord:
    """The recent predictions of one predictor.

    Attributes:
        counts: Over its last predictions, at most RECENT_PREDICTIONS.
        warning: A sentence if it is no good, with what can be done; else "".
    """

    name: str
    counts: PredictionCounts
    judgement: Judgement
    warning: str


class PredictionLog:
    """Notes committed predictions, and says once if a predictor is no good.

    A process adds its predictions to those in the graph every SAVE_SECONDS, so those of other
    processes may be missing for as long. If a process is killed, its last ones are lost.

    Args:
        seed: The seed of the candidates' order.
    """

    def __init__(self, store: GraphStore, reasoner: Reasoner, leases: Leases, seed: int) -> None:
        self._store = store
        self._reasoner = reasoner
        self._leases = leases
        self._seed = seed
        self._unsaved: dict[str, str] = {}
        self._saved_at = 0.0
        self._lock = asyncio.Lock()

    def note(self, done: Sequence[ReasonedInteraction]) -> None:
        """Note the predictions of committed interactions."""
        for one in done:
            if one.reward is not None and one.failure is None:
                name = one.predicted_by or self._reasoner.name
                digit = encode_prediction(one.sequence, one.reward, self._seed)
                self._unsaved[name] = self._unsaved.get(name, "") + digit

    async def save(self, *, closing: bool = False) -> None:
        """Add this process' predictions to those in the graph, if due.

        If it fails, a later call adds them.

        Args:
            closing: Add them in any case, and wait for other processes that do so now.
        """
        if not self._unsaved or (not closing and time.monotonic() - self._saved_at < SAVE_SECONDS):
            return
        async with self._lock:
            added, self._unsaved, self._saved_at = self._unsaved, {}, time.monotonic()
            saved = False
            try:
                saved = await self._add(added, CLOSING_WAIT_SECONDS if closing else 0.0)
            except PropagationError as error:
                log.info("predictions could not be counted and will be later: %s", error)
            finally:
                if not saved:
                    self._unsaved = _join(added, self._unsaved)

    async def read(self) -> list[PredictorRecord]:
        """Return the record of each predictor, that of the present one first."""
        async with self._lock:  # what is being saved stands in neither place
            now = _join((await self._load())["predictions"], self._unsaved)
        return [self._build_record(name, now[name]) for name in sorted(now, key=self._is_other)]

    def _is_other(self, name: str) -> bool:
        return name != self._reasoner.predictor

    async def _add(self, added: Mapping[str, str], wait_seconds: float) -> bool:
        async with self._leases.hold(LEASE, wait_seconds) as lease:
            if lease is None:
                return False
            stored = await self._load()
            predictions = _join(stored["predictions"], added)
            records = [self._build_record(name, predictions[name]) for name in added]
            news = [
                one
                for one in records
                if one.warning and [one.name, one.judgement] not in stored["said"]
            ]
            said = [*stored["said"], *([one.name, one.judgement] for one in news)]
            value = orjson.dumps({"predictions": predictions, "said": said})
            await self._store.put_blob(PLACE, value, lease)
        for one in news:
            log.warning("%s", one.warning)
        return True

    def _build_record(self, name: str, encoded: str) -> PredictorRecord:
        counts = count_predictions(encoded)
        warning = describe_judgement(name, counts)
        if warning and name == self._reasoner.name == self._reasoner.predictor:
            warning += ADVICE
        return PredictorRecord(name, counts, judge_predictions(counts), warning)

    async def _load(self) -> dict[str, Any]:
        blob = await self._store.get_blob(PLACE)
        stored: dict[str, Any] = orjson.loads(blob or b'{"predictions": {}, "said": []}')
        return stored


def _join(earlier: Mapping[str, str], later: Mapping[str, str]) -> dict[str, str]:
    return {
        name: (earlier.get(name, "") + later.get(name, ""))[-RECENT_PREDICTIONS:]
        for name in {**earlier, **later}
    }
