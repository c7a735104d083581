"""A claim, reasoned and committed in parts: while one part is committed the next is reasoned on the texts it left."""

import asyncio
import logging
import time
from collections.abc import Sequence
from dataclasses import replace

from propagation.model.errors import LeaseLost
from propagation.model.text import ClientText, ReasonClaim, Reasoned, ReasonWork
from propagation.ports.graph import GraphStore, VersionClash
from propagation.ports.vector_index import Point
from propagation.workflow.interaction import Stage1, clients_of
from propagation.workflow.vectors import Vectors

log = logging.getLogger(__name__)


class ClaimInParts:
    """A part has at least `least` interactions, and what was reasoned beside the commit before it; the last commit gives the
    claim back. `done`: what is committed. `late`: as in Reasoned."""

    def __init__(self, store: GraphStore, stage1: Stage1, vectors: Vectors, claim: ReasonClaim, least: int,
                 late: int | None = None) -> None:
        self._store = store
        self._stage1 = stage1
        self._vectors = vectors
        self._claim = claim
        self._least = least
        self._late = late
        self._committing: asyncio.Task[None] | None = None
        self._changed: dict[int, ClientText] = {}
        self.done: list[Reasoned] = []

    async def reason(self, until: float) -> None:
        """What is not done yet, or, once the monotonic clock has passed `until` (seconds), a part of it; the first is always
        done. What is committed is shown, however this ends. Raises VersionClash and LeaseLost: what is not done is as if it had
        not begun, and its clients' texts are loaded again."""
        finished = {result.sequence for result in self.done}
        works = [work for work in self._claim.work if work.sequence not in finished]
        points: Sequence[Point] | None = None
        try:
            worked_out = await self._points(await self._in_parts(works, until))
            await self._ended()
            points = worked_out
        except (VersionClash, LeaseLost):
            self._load_again()
            raise
        finally:
            await self._settled()
            await self._vectors.show(list(self._changed.values()), points)
            self._changed = {}

    async def _in_parts(self, works: Sequence[ReasonWork], until: float) -> dict[int, ClientText]:
        """The newest text of every client that changed; the last commit is still under way."""
        desk = await self._stage1.desk(works)
        changed: dict[int, ClientText] = {}
        left, last = list(works), False

        def enough(count: int) -> bool:
            return time.monotonic() >= until or (count >= self._least and (self._committing is None or self._committing.done()))

        while not last:
            results = await self._stage1.reason(left, desk, enough)
            reasoned = {result.sequence for result in results}
            left = [work for work in left if work.sequence not in reasoned]
            if self._late is not None:
                results = [replace(result, late=self._late) for result in results]
            last = not left or time.monotonic() >= until
            texts = desk.take_changed()
            changed.update(texts)
            await self._ended()
            self._committing = asyncio.create_task(self._commit(results, texts, last))
        return changed

    async def _commit(self, results: Sequence[Reasoned], texts: dict[int, ClientText], last: bool) -> None:
        await self._store.commit_reasoned(self._claim, results, more=not last)
        self._stage1.committed(texts)
        self._changed.update(texts)
        self.done.extend(results)

    async def _points(self, texts: dict[int, ClientText]) -> Sequence[Point] | None:
        """Worked out while the last part is committed, to be shown after it. None where embedding failed: the commits stand all
        the same."""
        try:
            return await self._vectors.points_of(texts.values())
        except Exception as error:
            log.warning("texts are committed and could not be embedded: %s", error)
            return None

    async def _ended(self) -> None:
        """The commit under way. Raises what it raised."""
        task, self._committing = self._committing, None
        if task is not None:
            await task

    async def _settled(self) -> None:
        """The same, where something else went wrong already."""
        task, self._committing = self._committing, None
        if task is not None and isinstance((await asyncio.gather(task, return_exceptions=True))[0], BaseException):
            self._load_again()

    def _load_again(self) -> None:
        """Somebody else may have written the texts of the claim's clients."""
        self._stage1.forget({ref for work in self._claim.work for ref in clients_of(work)})
