"""A replay through a new engine, shared by methods that ask differently."""

import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from itertools import islice
from pathlib import Path

import numpy as np

from propagation.arrays import F64, I64
from propagation.datasets.dataset import Dataset, Event
from propagation.laboratory.history import History, Questions
from propagation.laboratory.methods.method import Measured
from propagation.laboratory.methods.recnet.question_counts import CountedReasoner
from propagation.model import Client, NewInteraction
from propagation.workflow.engine import Engine
from propagation.workflow.read.recommend import RecommendRequest
from propagation.workflow.replay import replay

OpenEngine = Callable[[Path, int], Engine]
"""Builds an engine on a database file, with a seed."""
Convert = Callable[[Iterable[Event]], Iterable[NewInteraction]]
"""Checks events and converts them for recording."""
ASKED_AT_ONCE = 1_000


@dataclass(frozen=True)
class ReplayPlan:
    """What decides a replay.

    Attributes:
        version: A digest of all that decides the scores.
        settings: The same as text, for the report.
        step: Events that are recorded, learned and reasoned before a round may run.
        merges_at_once: After a round, messages are merged into all profiles. So they do not wait
            in a buffer for their client's next interaction (RecNet 3.3, "w/o Buffer").
    """

    version: str
    settings: str
    open_engine: OpenEngine
    step: int
    merges_at_once: bool = False


@dataclass(frozen=True)
class Replayed:
    """What a replay left.

    Attributes:
        scores: [Q,C] with propagation (True) or without, as far as methods of the run ask so.
    """

    scores: Mapping[bool, F64]


class ReplayCache:
    """Replays a history once for all methods with one plan.

    Only the newest replay's scores are kept: the methods of one seed run one after another.

    Attributes:
        dataset: The dataset that the rows of histories belong to.
        described: How many of its items have text.
    """

    def __init__(self, dataset: Dataset, convert: Convert) -> None:
        """Keep what all replays share.

        Args:
            convert: Checks events and converts them for recording.
        """
        self.dataset = dataset
        self.described = sum(
            item.apply_to(Client(ref=0, key=item.key)).has_text for item in dataset.items
        )
        self._convert = convert
        self._ways: dict[str, set[bool]] = {}
        self._newest: tuple[bytes, Replayed] | None = None
        self._measured: dict[tuple[str, int], Measured] = {}

    def expect(self, plan: ReplayPlan, propagate: bool) -> None:
        """Note that a method asks with propagation, or without."""
        self._ways.setdefault(plan.version, set()).add(propagate)

    async def replay(
        self, plan: ReplayPlan, history: History, questions: Questions, seed: int
    ) -> Replayed:
        """Replay the history and ask, unless the newest replay was this one."""
        key = _digest(plan.version, history, questions, seed)
        if self._newest is None or self._newest[0] != key:
            self._newest = None
            replayed, measured = await self._replay(plan, history, questions, seed)
            self._newest = key, replayed
            self._measured[plan.version, seed] = measured
        return self._newest[1]

    def get_measured(self, plan: ReplayPlan, seed: int) -> Measured:
        """Return what the newest replay of a plan and seed measured."""
        return self._measured[plan.version, seed]

    async def _replay(
        self, plan: ReplayPlan, history: History, questions: Questions, seed: int
    ) -> tuple[Replayed, Measured]:
        known = np.zeros(len(self.dataset), np.bool_)
        known[history.event] = True
        events = self._convert(
            event for event, learn in zip(self.dataset.events, known, strict=True) if learn
        )
        with tempfile.TemporaryDirectory(prefix="propagation-lab-") as folder:
            engine = plan.open_engine(Path(folder) / "graph.db", seed)
            await engine.open()
            try:
                begun = time.monotonic()
                rounds, routers = await self._learn(engine, plan, events)
                learned = time.monotonic() - begun
                counted = engine.reasoner
                asked = dict(counted.counts) if isinstance(counted, CountedReasoner) else {}
                scores = {
                    way: await self._ask_all(engine, questions, way)
                    for way in self._ways[plan.version]
                }
            finally:
                await engine.close()
        counts = {
            "learning seconds": learned,
            "rounds": float(rounds),
            "routers": routers[-1] if routers else 0.0,
            "questions": float(sum(asked.values())),
            **{f"questions: {name}": float(count) for name, count in asked.items()},
        }
        return (
            Replayed(scores),
            Measured(counts=counts, series={"routers": routers}, settings=plan.settings),
        )

    async def _learn(
        self, engine: Engine, plan: ReplayPlan, events: Iterable[NewInteraction]
    ) -> tuple[int, list[float]]:
        """Replay clients and events.

        Returns:
            How many rounds ran, and the number of taste routers in use after the clients and after
            each step.
        """
        first = await replay(engine, self.dataset.clients, ())
        rounds, waiting = first.rounds, iter(events)
        routers = [float(len(engine.routers_in_use))]
        while part := list(islice(waiting, plan.step)):
            report = await replay(engine, (), part, step=plan.step)
            if report.rounds and plan.merges_at_once:
                await self._merge_all(engine)
            rounds += report.rounds
            routers.append(float(len(engine.routers_in_use)))
        return rounds, routers

    async def _merge_all(self, engine: Engine) -> None:
        """Merge what waits for clients, as reading every profile would."""
        found = await engine.store.find_refs([client.key for client in self.dataset.clients])
        refs = [ref for ref in found if ref is not None]
        for ref in refs:
            await engine.read_profile(ref, merge=True)
        # Else the next claim would be reasoned twice: it would begin with the older texts.
        engine.memory.forget_texts(refs)

    async def _ask_all(self, engine: Engine, questions: Questions, propagate: bool) -> F64:
        return np.array(
            [
                await self._ask(engine, *question, propagate)
                for question in zip(*questions, strict=True)
            ]
        )

    async def _ask(
        self, engine: Engine, user: int, time: int, candidates: I64, propagate: bool
    ) -> F64:
        ids = [self.dataset.items[row].key.id for row in candidates]
        scores: dict[str, float] = {}
        for start in range(0, len(ids), ASKED_AT_ONCE):
            part = ids[start : start + ASKED_AT_ONCE]
            ranking = await engine.recommend(
                RecommendRequest(
                    user_id=self.dataset.users[user].key.id,
                    limit=len(part),
                    candidates=part,
                    exclude_seen=False,
                    propagate=propagate,
                    now=time / 1_000,
                )
            )
            scores.update((item.item_id, item.score) for item in ranking.items)
        return np.array([scores[one] for one in ids])


def _digest(version: str, history: History, questions: Questions, seed: int) -> bytes:
    """Digest all that decides a replay's scores."""
    digest = blake2b(repr((version, seed)).encode())
    for column in (history.event, *questions):
        digest.update(repr(column.shape).encode())
        digest.update(np.ascontiguousarray(column).tobytes())
    return digest.digest()
