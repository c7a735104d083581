"""Exports everything stored about a client (ExportStore).

There is one statement for each kind of record except the weights, which several statements read.
"""

from collections.abc import AsyncIterator, Mapping, Sequence

import orjson

from propagation.adapters.neo4j.connection import StorePart
from propagation.adapters.neo4j.forget.learned_rows import read_learned_weights
from propagation.adapters.neo4j.maintenance.sweeper import CLIENT_MODULES
from propagation.adapters.neo4j.reason.texts import build_text
from propagation.adapters.shared.learned_blocks import list_written_records
from propagation.adapters.shared.reason_rows import build_client_event, build_version_record
from propagation.adapters.shared.upper_bounds import get_bound
from propagation.model import ClientEvent, ClientKind, compute_ref, get_kind
from propagation.ports import COLLECTIONS, EXPORTED_KINDS

STATEMENTS = {
    "client": "forget/export/client/client",
    "client_before": "forget/export/client/client_before",
    "held_attributes": "forget/export/client/held_attributes",
    "edge": "forget/export/client/edge",
    "point": "forget/export/client/point",
    "event": "forget/export/interactions/event",
    "retracted_event": "forget/export/interactions/retracted_event",
    "reasoned": "forget/export/interactions/reasoned",
    "dead_letter": "forget/export/interactions/dead_letter",
    "gradient": "forget/export/interactions/gradient",
    "profile_version": "forget/export/texts/profile_version",
    "merge": "forget/export/texts/merge",
    "message_part": "forget/export/texts/message_part",
}
AS_JSON = "metadata"


class Neo4jExport(StorePart):
    """Exports one kind of record after another."""

    async def export_client(self, ref: int) -> AsyncIterator[tuple[str, Mapping[str, object]]]:
        for kind in EXPORTED_KINDS:
            for record in await self._read_records(kind, ref):
                yield kind, record

    async def get_client_events(
        self, ref: int, limit: int, before: int | None = None
    ) -> Sequence[ClientEvent]:
        rows = await self._database.table(
            "forget/events/newest_events_of_client", ref=ref, before=get_bound(before), limit=limit
        )
        return [build_client_event(row) for row in rows]

    async def _read_records(self, kind: str, ref: int) -> Sequence[Mapping[str, object]]:
        if kind == "written":
            return await self._read_weights(ref)
        parameters: dict[str, object] = {"ref": ref}
        if kind == "gradient":
            parameters["modules"] = CLIENT_MODULES
        if kind == "point":
            collection = COLLECTIONS[get_kind(ref)]
            parameters = {"collection": collection.value, "key": orjson.dumps(ref).decode()}
        rows = await self._database.rows(STATEMENTS[kind], **parameters)
        if kind == "profile_version":
            return [
                build_version_record(build_text(columns), sequence, written_at, author)
                for *columns, sequence, written_at, author in rows
            ]
        records = [record for (record,) in rows]
        for record in records:
            if record.get(AS_JSON) is not None:
                record[AS_JSON] = orjson.loads(record[AS_JSON])
        return records

    async def _read_weights(self, ref: int) -> list[Mapping[str, object]]:
        """Return the weights that a client's interactions wrote to each bank.

        Source: docs/numbers.md, rule 5.
        """
        row = await self._database.row("forget/events/events_of_client", ref=ref) or [[], []]
        written = await read_learned_weights(self._database, [sequence for sequence, _ in row[0]])
        refs = sorted(
            {compute_ref(ClientKind.ITEM, item) for item in written.negative.tolist() if item >= 0}
        )
        named = {
            found[0]: f"item:{found[1]}"
            for found in await self._database.table("record/clients/clients", refs=refs)
        }
        return list(
            list_written_records(
                written,
                lambda item: None if item < 0 else named.get(compute_ref(ClientKind.ITEM, item)),
            )
        )
