"""Deletes what ended before a sequence and is cited by nothing (RetentionStore).

A run looks up once which rows are cited and which versions were replaced. A replaced version never
becomes current again; but a message that waits for an inactive client may be merged meanwhile,
which the statement that deletes it checks.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from propagation.adapters.neo4j.connection.database import Neo4jDatabase, StorePart, Transaction
from propagation.model import Module

Keys = list[list[int]]


@dataclass
class DeletionPlan:
    """What may be deleted for one `before`.

    Attributes:
        cited: Messages that lines cite now or cited then.
        messages: Messages that may go.
        texts: Versions of texts that may go.
    """

    before: int
    cited: Keys
    messages: Keys
    texts: Keys


class Neo4jRetention(StorePart):
    """Deletes in batches, following a plan."""

    def __init__(self, database: Neo4jDatabase) -> None:
        super().__init__(database)
        self._plan: DeletionPlan | None = None

    async def prune(self, before: int, limit: int) -> int | None:
        if self._plan is None or self._plan.before != before:
            self._plan = await self._make_plan(before)
            await self._database.execute("forget/retention/set_oldest_sequence", before=before)
        dropped = 0
        for name, parameters in _steps(self._plan):
            if dropped < limit:
                dropped += await self._drop(name, limit - dropped, parameters)
        if not dropped:
            self._plan = None
            await self._database.execute("forget/retention/finish_retention", before=before)
        return dropped or None

    async def oldest_kept(self) -> int:
        return await self._database.value("forget/retention/oldest_sequence") or 0

    async def _drop(self, name: str, limit: int, parameters: dict[str, object]) -> int:
        """Delete at most `limit` rows of one kind; deleted keys leave the plan."""
        keys = parameters.get("keys")
        asked = (
            {**parameters, "keys": keys[-limit:]}
            if isinstance(keys, list)
            else {**parameters, "limit": limit}
        )
        if asked.get("keys") == []:
            return 0

        async def work(transaction: Transaction) -> int:
            return await transaction.value(name, **asked) or 0

        dropped = await self._database.write(work)
        if isinstance(keys, list):
            del keys[-limit:]
            return dropped or await self._drop(name, limit, parameters)
        return dropped

    async def _make_plan(self, before: int) -> DeletionPlan:
        rows = self._database.rows
        cited = await rows("forget/retention/cited_messages", before=before)
        kept = {
            tuple(key)
            for name in ("forget/retention/texts_of_parts", "forget/retention/texts_that_read")
            for key in await rows(name, keys=cited)
        }
        messages = {tuple(key) for key in cited}
        return DeletionPlan(
            before,
            cited,
            [
                key
                for key in await rows("forget/retention/replaced_messages", before=before)
                if tuple(key) not in messages
            ],
            [
                key
                for key in await rows("forget/retention/replaced_texts", before=before)
                if tuple(key) not in kept
            ],
        )


def _steps(plan: DeletionPlan) -> Iterator[tuple[str, dict[str, object]]]:
    """Yield statements with their parameters besides the limit, in the order of deletion."""
    yield "forget/retention/delete_merges", {"cited": plan.cited, "before": plan.before}
    for module in Module:
        yield "forget/retention/delete_gradients", {"module": module.value, "before": plan.before}
    yield "forget/retention/delete_edges", {"before": plan.before}
    yield "forget/retention/delete_messages", {"keys": plan.messages, "before": plan.before}
    yield "forget/retention/delete_texts", {"keys": plan.texts}
