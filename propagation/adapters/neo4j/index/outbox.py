"""The outbox: changes that wait for the vector index (OutboxStore).

workflow/index/vector_sync.py delivers them.
"""

from collections.abc import Iterable, Sequence

import orjson

from propagation.adapters.neo4j.connection import StorePart, Transaction
from propagation.adapters.shared.json_text import remove_nul
from propagation.model import ClientText, Round, RouterVersion, get_kind
from propagation.ports import COLLECTIONS, Collection, IndexChange, Lease


class Neo4jOutbox(StorePart):
    """Keeps one node `(:Waiting)` for each (collection, key, round)."""

    async def stage_changes(
        self, lease: Lease, round_: Round, changes: Sequence[IndexChange]
    ) -> None:
        rows = sorted(
            _build_row(change.collection, change.key, round_.number, change.version)
            for change in changes
        )
        remove_nul(orjson.dumps(rows))
        await self._database.execute(
            "index/outbox/stage_changes", lease, rows=rows, round=round_.number
        )

    async def get_pending_changes(self, age_ms: int, limit: int) -> Sequence[IndexChange]:
        rows = await self._database.rows(
            "index/outbox/list_changes", age=age_ms, limit=limit, now=self._database.now()
        )
        return [
            IndexChange(
                collection=Collection(collection),
                key=orjson.loads(key),
                version=version,
                round=round_,
            )
            for collection, key, version, round_ in rows
        ]

    async def drop_changes(self, changes: Sequence[IndexChange]) -> None:
        rows = sorted(
            [_build_id(change.collection, change.key, change.round), change.version]
            for change in changes
        )
        if rows:
            await self._database.execute("index/outbox/delete_changes", rows=rows)

    async def count_changes(self) -> int:
        return int(await self._database.value("index/outbox/count_changes"))


async def enqueue_texts(transaction: Transaction, texts: Sequence[ClientText]) -> None:
    """Add texts to the outbox, in the transaction that writes them.

    Rows are sorted, as locks on clients are, so that writers never deadlock.
    """
    versions = {text.profile.ref: text.profile.version for text in texts}
    rows = sorted(
        [*_build_row(COLLECTIONS[get_kind(ref)], ref, 0, version), 0]
        for ref, version in versions.items()
    )
    if rows:
        await transaction.execute("index/outbox/add_changes", rows=rows, now=transaction.now())


async def enqueue_messages(transaction: Transaction, messages: Iterable[RouterVersion]) -> None:
    """Add messages whose text changed to the outbox.

    The caller passes the transaction that changes the messages.
    """
    await transaction.execute(
        "index/outbox/add_changes",
        rows=sorted(
            [*_build_row(Collection.ROUTERS, sent.router, sent.round, sent.version), sent.round]
            for sent in messages
        ),
        now=transaction.now(),
    )


def _build_row(collection: Collection, key: int | str, round_: int, version: int) -> list[object]:
    return [
        _build_id(collection, key, round_),
        collection.value,
        orjson.dumps(key).decode(),
        version,
    ]


def _build_id(collection: Collection, key: int | str, round_: int) -> str:
    return f"{collection}/{round_}/{orjson.dumps(key).decode()}"
