"""A replay through a new engine, shared by methods that ask differently."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import StrEnum
from hashlib import blake2b
from itertools import islice
from pathlib import Path

import numpy as np

from propagation.arrays import F64, I64
from propagation.datasets.dataset import Dataset, Event
from propagation.laboratory.history import History, Questions
from propagation.laboratory.methods.asking.answers import run_together
from propagation.laboratory.methods.dependencies import build_version
from propagation.laboratory.methods.method import Dependencies, LiveScores, Measured
from propagation.laboratory.methods.recnet.point_to_point import PointToPoint
from propagation.laboratory.methods.recnet.question_counts import CountedReasoner
from propagation.laboratory.temporary_folder import make_temporary_folder
from propagation.model import Client, NewInteraction
from propagation.workflow.engine import Engine
from propagation.workflow.read.recommend import RecommendRequest
from propagation.workflow.replay import replay

OpenEngine = Callable[[Path, int], Engine]
"""Builds an engine on a database file, with a seed."""
Convert = Callable[[Iterable[Event]], Iterable[NewInteraction]]
"""Checks events and converts them for recording."""
ASKED_AT_ONCE = 1_000
QUESTIONS = "questions"
"""Begins the names of counts of questions."""


class Ranker(StrEnum):
    """What ranks after a replay.

    Attributes:
        NUMBERS: The numbers, with propagation.
        NUMBERS_OFF: The numbers, without propagation.
        REASONER: The reasoner, by the profiles (RecNet 3.1.3).
    """

    NUMBERS = "numbers"
    NUMBERS_OFF = "numbers without propagation"
    REASONER = "reasoner"


@dataclass(frozen=True)
class ReplayPlan:
    """What decides a replay.

    Attributes:
        depends_on: What decides the scores.
        settings: The same as text, for the report.
        remark: As in Measured.
        step: Events that are recorded, learned and reasoned before a round may run.
        merges_at_once: After a round, messages are merged into all profiles. So they do not wait
            in a buffer for their client's next interaction (RecNet 3.3, "w/o Buffer").
        send_between_clients: Lets clients send to each other after each step, in place of routers;
            None: only routers do.
    """

    depends_on: Dependencies
    settings: str
    open_engine: OpenEngine
    step: int
    merges_at_once: bool = False
    remark: str = ""
    send_between_clients: Callable[[Engine], PointToPoint] | None = None

    @property
    def version(self) -> str:
        """A digest of all that decides the scores."""
        return build_version(self.depends_on)


@dataclass
class Progress:
    """What a replay has done so far.

    Attributes:
        rounds: How many ran.
        routers: The number of taste routers in use after the clients and after each step.
        between: Sends between clients after each step; None: only routers send.
    """

    rounds: int
    routers: list[float]
    between: PointToPoint | None = None


Scores = Mapping[Ranker, F64]
"""[Q,C] by each ranker that methods of a run use.

The reasoner's are its order as scores, and NaN where it gave no usable order.
"""


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
        self._rankers: dict[str, set[Ranker]] = {}
        self._newest: tuple[bytes, Scores] | None = None
        self._one_at_a_time = asyncio.Lock()
        self._measured: dict[tuple[str, int], Measured] = {}

    def expect(self, plan: ReplayPlan, ranker: Ranker) -> None:
        """Note that a method uses a ranker."""
        self._rankers.setdefault(plan.version, set()).add(ranker)

    async def replay(
        self, plan: ReplayPlan, history: History, questions: Questions, seed: int
    ) -> Scores:
        """Replay the history and ask, unless the newest replay was this one."""
        key = _digest(plan.version, history, questions, seed)
        async with self._one_at_a_time:
            if self._newest is None or self._newest[0] != key:
                self._newest = None
                scores, measured = await self._replay(plan, history, questions, seed)
                self._newest = key, scores
                self._measured[plan.version, seed] = measured
            return self._newest[1]

    def get_measured(self, plan: ReplayPlan, seed: int) -> Measured:
        """Return what the newest replay of a plan and seed measured."""
        return self._measured[plan.version, seed]

    async def follow(
        self,
        plan: ReplayPlan,
        ranker: Ranker,
        history: History,
        questions: Questions,
        known: I64,
        seed: int,
    ) -> LiveScores:
        """Replay a history, and ask each question at its moment.

        Before each question all of them are recorded, learned and reasoned, and a round may run. A
        replay that is followed is not shared: each ranker has its own.

        Yields:
            [C] scores of one question after another.
        """
        async with self._open(plan, seed) as engine:
            events, spent = iter(self._select_events(history)), 0.0
            begun = time.monotonic()
            progress = await self._learn(engine, plan, ())
            for row, part in enumerate(history.walk(known)):
                new = islice(events, part.stop - part.start)
                await self._learn_events(engine, plan, new, progress)
                spent += time.monotonic() - begun
                one = Questions(*(column[row : row + 1] for column in questions))
                yield (await self._ask_all(engine, one, ranker))[0]
                begun = time.monotonic()
            self._measured[plan.version, seed] = await self._measure(
                engine, plan, len(history.event), spent, progress
            )

    async def _replay(
        self, plan: ReplayPlan, history: History, questions: Questions, seed: int
    ) -> tuple[Scores, Measured]:
        async with self._open(plan, seed) as engine:
            begun = time.monotonic()
            progress = await self._learn(engine, plan, self._select_events(history))
            learned = time.monotonic() - begun
            measured = await self._measure(engine, plan, len(history.event), learned, progress)
            scores = {
                ranker: await self._ask_all(engine, questions, ranker)
                for ranker in sorted(self._rankers[plan.version])
            }
        return scores, measured

    @asynccontextmanager
    async def _open(self, plan: ReplayPlan, seed: int) -> AsyncIterator[Engine]:
        with make_temporary_folder() as folder:
            engine = plan.open_engine(folder / "graph.db", seed)
            await engine.open()
            try:
                yield engine
            finally:
                await engine.close()

    def _select_events(self, history: History) -> Iterable[NewInteraction]:
        known = np.zeros(len(self.dataset), np.bool_)
        known[history.event] = True
        return self._convert(
            event for event, learn in zip(self.dataset.events, known, strict=True) if learn
        )

    async def _measure(
        self,
        engine: Engine,
        plan: ReplayPlan,
        events: int,
        seconds: float,
        progress: Progress,
    ) -> Measured:
        counted = engine.reasoner
        asked = dict(counted.counts) if isinstance(counted, CountedReasoner) else {}
        asked.pop("rank", None)  # the protocol's questions, not those of learning
        dead_letters = len(await engine.store.get_dead_letters(events))
        counts = {f"{QUESTIONS}: {name}": float(count) for name, count in asked.items()}
        if progress.between:
            counts |= progress.between.counts
        counts |= {
            "learning seconds": seconds,
            "rounds": float(progress.rounds),
            "routers": progress.routers[-1],
            "dead letters": float(dead_letters),
            QUESTIONS: sum(count for name, count in counts.items() if name.startswith(QUESTIONS)),
        }
        return Measured(
            counts=counts,
            series={"routers": progress.routers},
            settings=plan.settings,
            remark=plan.remark,
        )

    async def _learn(
        self, engine: Engine, plan: ReplayPlan, events: Iterable[NewInteraction]
    ) -> Progress:
        """Replay clients and events."""
        first = await replay(engine, self.dataset.clients, ())
        between = plan.send_between_clients(engine) if plan.send_between_clients else None
        if between:
            await between.skip()
        progress = Progress(first.rounds, [float(len(engine.routers_in_use))], between)
        await self._learn_events(engine, plan, events, progress)
        return progress

    async def _learn_events(
        self,
        engine: Engine,
        plan: ReplayPlan,
        events: Iterable[NewInteraction],
        progress: Progress,
    ) -> None:
        """Replay further events, and note the progress."""
        waiting = iter(events)
        while part := list(islice(waiting, plan.step)):
            report = await replay(engine, (), part, step=plan.step)
            if report.rounds and plan.merges_at_once:
                await self._merge_all(engine)
            if progress.between:
                await progress.between.propagate()
            progress.rounds += report.rounds
            progress.routers.append(float(len(engine.routers_in_use)))

    async def _merge_all(self, engine: Engine) -> None:
        """Merge what waits for clients, as reading every profile would."""
        found = await engine.store.find_refs([client.key for client in self.dataset.clients])
        refs = [ref for ref in found if ref is not None]
        for ref in refs:
            await engine.read_profile(ref, merge=True)
        # Else the next claim would be reasoned twice: it would begin with the older texts.
        engine.memory.forget_texts(refs)

    async def _ask_all(self, engine: Engine, questions: Questions, ranker: Ranker) -> F64:
        asked = list(zip(*questions, strict=True))
        if ranker is not Ranker.REASONER:
            propagate = ranker is Ranker.NUMBERS
            return np.array([await self._ask(engine, *one, propagate) for one in asked])
        slots = asyncio.Semaphore(engine.reasoner.concurrency)
        return np.array(
            await run_together(self._rank(engine, *one, slots) for one in asked)
        ).reshape(questions.candidates.shape)

    async def _rank(
        self, engine: Engine, user: int, time: int, candidates: I64, slots: asyncio.Semaphore
    ) -> F64:
        """Let the reasoner rank one question's candidates.

        Returns:
            [C] scores; NaN without a usable order.
        """
        ids = [self.dataset.items[row].key.id for row in candidates]
        request = self._build_request(user, time, ids, propagate=True)
        async with slots:
            listed = await engine.recommend(request)
            ranking = await engine.rerank(request.user_id, listed, None, raise_unavailable=True)
        if not ranking.by_reasoner:
            return np.full(len(ids), np.nan)
        places = {item.item_id: place for place, item in enumerate(ranking.items)}
        return -np.array([places[one] for one in ids], np.float64)

    def _build_request(
        self, user: int, time: int, ids: Sequence[str], *, propagate: bool
    ) -> RecommendRequest:
        return RecommendRequest(
            user_id=self.dataset.users[user].key.id,
            limit=len(ids),
            candidates=ids,
            exclude_seen=False,
            propagate=propagate,
            now=time / 1_000,
        )

    async def _ask(
        self, engine: Engine, user: int, time: int, candidates: I64, propagate: bool
    ) -> F64:
        ids = [self.dataset.items[row].key.id for row in candidates]
        scores: dict[str, float] = {}
        for start in range(0, len(ids), ASKED_AT_ONCE):
            part = ids[start : start + ASKED_AT_ONCE]
            ranking = await engine.recommend(
                self._build_request(user, time, part, propagate=propagate)
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
