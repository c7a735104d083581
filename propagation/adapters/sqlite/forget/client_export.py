"""ExportStore on SQLite: one query for each kind of record."""

import sqlite3
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence

import orjson

from propagation.adapters.shared.learned_blocks import list_written_records
from propagation.adapters.shared.reason_rows import build_client_event, build_version_record
from propagation.adapters.shared.upper_bounds import get_bound
from propagation.adapters.sqlite.connection import SqlitePart, reads
from propagation.adapters.sqlite.forget.learned_rows import read_weights
from propagation.adapters.sqlite.reason.texts import build_text
from propagation.model import ClientEvent, ClientKind, compute_ref, get_kind
from propagation.ports import EXPORTED_KINDS

NAMED = "(SELECT iif(n.kind, 'item:', 'user:') || n.id FROM client n WHERE n.ref = {})"
CONTENT = (
    "'title', title, 'description', description, 'attributes', json(attributes), 'categories',"
    " json(categories), 'hidden', json(iif(hidden, 'true', 'false')), 'metadata', json(metadata),"
    " 'sequence', sequence"
)
PARTIES = f"'user', {NAMED.format('user')}, 'item', {NAMED.format('item')}"
QUERIES = {
    "client": (
        f"SELECT json_object('client', {NAMED.format('client.ref')}, {CONTENT}) FROM "
        "client WHERE ref = ?1"
    ),
    "client_before": (
        f"SELECT json_object('until', until, {CONTENT}) FROM client_before WHERE "
        "ref = ?1 ORDER BY until"
    ),
    "event": f"SELECT json_object('sequence', sequence, 'event_id', event_id, {PARTIES}, "
    f"'negative', {NAMED.format('negative')},"
    " 'time', time, 'weight', weight, 'recorded_at', at, 'metadata', json(metadata)) FROM "
    "interaction"
    " WHERE user = ?1 OR item = ?1 OR negative = ?1 ORDER BY sequence",
    "retracted_event": "SELECT json_object('sequence', sequence, 'event_id', event_id, "
    f"{PARTIES}) FROM retracted"
    " WHERE user = ?1 OR item = ?1 ORDER BY sequence",
    "reasoned": "SELECT json_object('sequence', r.sequence, 'reward', r.reward, 'late', r.late, "
    "'prompts', json(coalesce(r.prompts,"
    " '[]')), 'fallback', r.fallback) FROM interaction i"
    " JOIN reasoned r USING (sequence) WHERE i.user = ?1 OR i.item = ?1 ORDER BY r.sequence",
    "dead_letter": "SELECT json_object('sequence', d.sequence) FROM "
    "dead_letter d JOIN interaction i"
    " USING (sequence) WHERE i.user = ?1 OR i.item = ?1 ORDER BY d.sequence",
    "gradient": "SELECT json_object('sequence', sequence, 'module', module, 'owner', iif(module "
    "= 'router', owner,"
    f" {NAMED.format('owner')}), 'writer', {NAMED.format('writer')}, 'reward', reward, 'text', "
    "text,"
    " 'attributes', json(attributes)) FROM gradient WHERE writer = ?1 OR (module <> 'router' AND "
    "owner = ?1)"
    " ORDER BY sequence",
    "merge": "SELECT json_object('profile_version', profile_version, 'router', router, "
    "'router_version', router_version,"
    " 'outcome', outcome, 'sequence', sequence) FROM merged WHERE ref = ?1 ORDER BY "
    "profile_version, router",
    "message_part": "SELECT json_object('router', router, 'router_version', version, 'attribute', "
    "attribute, 'profile_version',"
    " profile_version, 'sequence', sequence) FROM integrated WHERE ref = ?1 ORDER BY router, "
    "version, attribute",
    "held_attributes": "SELECT json_object('names', json(names)) FROM held WHERE ref = ?1",
    "edge": "SELECT json_object('router', e.router, 'score', e.score, 'from', o.sequence, "
    "'until', c.sequence) FROM edge_ever e"
    " JOIN round o ON o.number = e.opened LEFT JOIN round c ON c.number = e.closed WHERE e.ref = ?1"
    " ORDER BY o.sequence, e.router",
    "point": "SELECT json_object('collection', collection, 'version', version, 'attributes', "
    "json(attributes)) FROM point"
    " WHERE collection = iif(?1 & 1, 'items', 'users') AND key = ?1",
}


VERSIONS = (
    "SELECT ref, version, next_id, hex(body), watermark, dropped, sequence, at, written_by"
    " FROM profile_version WHERE ref = ? ORDER BY version"
)
# Each part reads its own index backwards; the column is the client's kind.
EVENTS = (
    "SELECT * FROM (SELECT sequence, event_id, user, item, negative, time, weight, at, metadata,"
    " 0 AS retracted FROM interaction WHERE {0} = ?1 AND sequence < ?2"
    " ORDER BY sequence DESC LIMIT ?3)"
    " UNION ALL SELECT * FROM (SELECT sequence, event_id, user, item, NULL, NULL, NULL, NULL, NULL,"
    " 1 FROM retracted WHERE {0} = ?1 AND sequence < ?2 ORDER BY sequence DESC LIMIT ?3)"
    " ORDER BY sequence DESC LIMIT ?3"
)


class SqliteExport(SqlitePart):
    """Exports one kind of record after another, each in one snapshot."""

    async def export_client(self, ref: int) -> AsyncIterator[tuple[str, Mapping[str, object]]]:
        for kind in EXPORTED_KINDS:
            for record in await self._read_records(kind, ref):
                yield kind, record

    @reads
    def get_client_events(
        self, connection: sqlite3.Connection, ref: int, limit: int, before: int | None = None
    ) -> Sequence[ClientEvent]:
        rows = connection.execute(
            EVENTS.format(get_kind(ref).name.lower()), (ref, get_bound(before), limit)
        )
        return [build_client_event(row) for row in rows]

    @reads
    def _read_records(
        self, connection: sqlite3.Connection, kind: str, ref: int
    ) -> list[Mapping[str, object]]:
        if kind == "written":
            return list(_read_weights(connection, ref))
        if kind == "profile_version":
            return list(_read_versions(connection, ref))
        return [orjson.loads(row[0]) for row in connection.execute(QUERIES[kind], (ref,))]


def _read_weights(connection: sqlite3.Connection, ref: int) -> Iterator[Mapping[str, object]]:
    """Return the weights that each event wrote to each bank (rule 5)."""
    column = "item" if get_kind(ref) == ClientKind.ITEM else "user"
    rows = connection.execute(f"SELECT sequence FROM interaction WHERE {column} = ?", (ref,))
    learned = read_weights(connection, [row[0] for row in rows])
    return list_written_records(learned, lambda item: _name(connection, item))


def _name(connection: sqlite3.Connection, item: int) -> str | None:
    row = connection.execute(
        "SELECT 'item:' || id FROM client WHERE ref = ?", (compute_ref(ClientKind.ITEM, item),)
    ).fetchone()
    return None if item < 0 or row is None else row[0]


def _read_versions(connection: sqlite3.Connection, ref: int) -> Iterator[Mapping[str, object]]:
    for *columns, sequence, written_at, author in connection.execute(VERSIONS, (ref,)):
        yield build_version_record(build_text(columns), sequence, written_at, author)
