"""Exports everything stored about a client (ExportStore).

There is one statement for each kind of record.
"""

from collections.abc import AsyncIterator, Mapping

import orjson

from propagation.adapters.neo4j.connection import StorePart
from propagation.adapters.neo4j.forget.learned_rows import learned_weights_of
from propagation.adapters.neo4j.maintenance.sweeper import CLIENT_MODULES
from propagation.adapters.neo4j.reason.texts import text_of
from propagation.adapters.shared.learned_blocks import written_records
from propagation.adapters.shared.reason_rows import version_record
from propagation.model import ClientKind, kind_of, ref_of
from propagation.ports import COLLECTIONS, ExportRecord

BEFORE_VERSIONS = (
    "forget/export/client",
    "forget/export/client_before",
    "forget/export/event",
    "forget/export/retracted_event",
)
AFTER_VERSIONS = (
    "forget/export/reasoned",
    "forget/export/dead_letter",
    "forget/export/merge",
    "forget/export/brought",
    "forget/export/held_attributes",
    "forget/export/edge",
)
AS_JSON = "metadata"


class Neo4jExport(StorePart):
    """Exports one kind after another; each kind is read in one snapshot."""

    async def export_client(self, ref: int) -> AsyncIterator[ExportRecord]:
        for name in BEFORE_VERSIONS:
            for record in await self._records(name, ref=ref):
                yield ExportRecord(_kind(name), record)
        async for written in self._read_weights(ref):
            yield ExportRecord("written", written)
        for *columns, sequence, written_at, author in await self._database.rows(
            "forget/export/profile_versions", ref=ref
        ):
            record = version_record(text_of(columns), sequence, written_at, author)
            yield ExportRecord("profile_version", record)
        for gradient in await self._records(
            "forget/export/gradient", ref=ref, modules=CLIENT_MODULES
        ):
            yield ExportRecord("gradient", gradient)
        for name in AFTER_VERSIONS:
            for record in await self._records(name, ref=ref):
                yield ExportRecord(_kind(name), record)
        point = {"collection": COLLECTIONS[kind_of(ref)].value, "key": orjson.dumps(ref).decode()}
        for record in await self._records("index/points/client_point", **point):
            yield ExportRecord("point", record)

    async def _records(self, name: str, /, **parameters: object) -> list[Mapping[str, object]]:
        records = [record for (record,) in await self._database.rows(name, **parameters)]
        for record in records:
            if record.get(AS_JSON) is not None:
                record[AS_JSON] = orjson.loads(record[AS_JSON])
        return records

    async def _read_weights(self, ref: int) -> AsyncIterator[Mapping[str, object]]:
        """Yield the weights that a client's interactions wrote to each bank.

        Source: docs/numbers.md, rule 5.
        """
        row = await self._database.row("forget/search/events_of_client", ref=ref) or [[], []]
        written = await learned_weights_of(self._database, [sequence for sequence, _ in row[0]])
        refs = sorted(
            {ref_of(ClientKind.ITEM, item) for item in written.negative.tolist() if item >= 0}
        )
        named = {
            found[0]: f"item:{found[1]}"
            for found in await self._database.table("record/clients/clients", refs=refs)
        }
        for record in written_records(
            written, lambda item: None if item < 0 else named.get(ref_of(ClientKind.ITEM, item))
        ):
            yield record


def _kind(name: str) -> str:
    return name.rpartition("/")[2]
