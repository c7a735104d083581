"""RetentionStore on SQLite: what ended before a sequence and is cited by nothing that is kept goes, some rows a commit.

What may go is looked up once a run, on a reading connection; the writer only deletes rows by number. What has ended never
starts again; but a message that waits for a client that sleeps may be merged meanwhile, which the writer looks at."""

import sqlite3
from array import array
from dataclasses import dataclass, field

from propagation.adapters.sqlite.bodies import cited_messages
from propagation.adapters.sqlite.database import Database
from propagation.adapters.sqlite.messages import last_round
from propagation.adapters.sqlite.rows import dumped, one

# A version's life ends where the next one begins, an edge's where it is closed, a message's where its router's next is sent.
TEXTS = ("SELECT v.rowid, v.ref, v.version FROM profile_version v JOIN profile_version n ON n.ref = v.ref"
         " AND n.version = v.version + 1 WHERE n.sequence <= ?")
EDGES = ("SELECT e.rowid FROM edge_past e INDEXED BY edge_past_closed"
         " WHERE e.closed > coalesce((SELECT value FROM progress WHERE name = 'edges_pruned'), 0) AND e.closed <= ?"
         " AND (EXISTS (SELECT 1 FROM edge f WHERE f.ref = e.ref AND f.opened < e.opened)"
         " OR EXISTS (SELECT 1 FROM edge_past f WHERE f.ref = e.ref AND f.opened < e.opened))")
MESSAGES = ("SELECT v.rowid, v.router, v.version FROM router_version v JOIN router_version n ON n.router = v.router"
            " AND n.version = v.version + 1 JOIN round r ON r.number = n.round WHERE r.sequence <= ?")
PARTS = "SELECT rowid, router, version FROM integrated"
MERGES = "SELECT rowid, router, router_version FROM merged WHERE sequence <= ?"
GRADIENTS = "SELECT rowid FROM gradient WHERE sequence <= ?"
REASONED = "SELECT sequence FROM reasoned WHERE sequence <= min(?, (SELECT value FROM progress WHERE name = 'reasoned'))"
# The texts of now, and those that stood at the oldest sequence that is kept: what else stood since cites these or what was merged
# since, whose merge is kept.
STOOD = ("SELECT v.body FROM profile_version v WHERE v.version = (SELECT max(n.version) FROM profile_version n WHERE n.ref = v.ref)"
         " OR (v.sequence <= ?1 AND EXISTS (SELECT 1 FROM profile_version n WHERE n.ref = v.ref AND n.version = v.version + 1"
         " AND n.sequence > ?1))")
HEARD = "SELECT DISTINCT router, router_version FROM merged WHERE sequence > ?"
CITED_TEXTS = "SELECT DISTINCT ref, profile_version FROM integrated WHERE router = ? AND version = ?"
GO = "DELETE FROM {0} WHERE rowid IN (SELECT value FROM json_each(?))"
UNHEARD = (" AND NOT EXISTS (SELECT 1 FROM merged m WHERE m.router = {0}.router AND m.router_version = {0}.version"
           " AND m.sequence > ?)")
OF_MESSAGES = ("router_version", "integrated")


@dataclass
class Plan:
    """Row numbers by table that may go, for one `before`; they hold until the file is written anew (Database.files). `round`: the
    newest one before; what ended with it or earlier and stays, stays for good."""

    before: int
    file: int
    round: int
    rows: dict[str, "array[int]"] = field(default_factory=dict)

    def take(self, limit: int) -> list[tuple[str, list[int]]]:
        """At most `limit` of them, taken out."""
        taken = []
        for table, numbers in self.rows.items():
            part = numbers[-limit:].tolist() if limit else []
            if part:
                del numbers[-len(part) :]
                taken.append((table, part))
                limit -= len(part)
        return taken


class SqliteRetention:
    """Drops by plan."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._plan: Plan | None = None

    async def prune(self, before: int, limit: int) -> int:
        file = self._database.files
        plan = self._plan
        if plan is None or (plan.before, plan.file) != (before, file):
            plan = self._plan = await self._database.read(lambda connection: _planned(connection, before, file))
        taken = plan.take(limit)

        def work(connection: sqlite3.Connection) -> int | None:
            if self._database.files != file:
                return None
            connection.execute("INSERT INTO progress VALUES ('oldest_kept', ?) ON CONFLICT (name) DO UPDATE"
                               " SET value = max(value, excluded.value)", (before,))
            if not taken:
                connection.execute("INSERT OR REPLACE INTO progress VALUES ('edges_pruned', ?)", (plan.round,))
            return sum(_dropped(connection, table, numbers, before) for table, numbers in taken)

        try:
            dropped = await self._database.write(work)
        except BaseException:
            self._plan = None  # what was taken out of it is still there
            raise
        if dropped is None:
            return await self.prune(before, limit)
        if not taken:
            self._plan = None
        return dropped

    async def oldest_kept(self) -> int:
        return await self._database.read(lambda connection: one(
            connection, "SELECT value FROM progress WHERE name = 'oldest_kept'") or 0)


def _dropped(connection: sqlite3.Connection, table: str, numbers: list[int], before: int) -> int:
    if table in OF_MESSAGES:
        return connection.execute((GO + UNHEARD).format(table), (dumped(numbers), before)).rowcount
    return connection.execute(GO.format(table), (dumped(numbers),)).rowcount


def _planned(connection: sqlite3.Connection, before: int, file: int) -> Plan:
    messages = {key for body, in connection.execute(STOOD, (before,)) for key in cited_messages(body)}
    messages.update(connection.execute(HEARD, (before,)))
    texts = frozenset(part for key in messages for part in connection.execute(CITED_TEXTS, key).fetchall())
    gone = [(row, router, version) for row, router, version in connection.execute(MESSAGES, (before,)).fetchall()
            if (router, version) not in messages]
    keys = frozenset((router, version) for _, router, version in gone)
    round_ = last_round(connection, before)
    return Plan(before, file, round_, {
        "profile_version": array("q", [row for row, *key in connection.execute(TEXTS, (before,)) if tuple(key) not in texts]),
        "edge_past": array("q", [row for row, in connection.execute(EDGES, (round_,))]),
        "integrated": array("q", [row for row, *key in connection.execute(PARTS) if tuple(key) in keys] if keys else []),
        "router_version": array("q", [row for row, _, _ in gone]),
        "merged": array("q", [row for row, *key in connection.execute(MERGES, (before,)) if tuple(key) not in messages]),
        "gradient": array("q", [row for row, in connection.execute(GRADIENTS, (before,))]),
        "reasoned": array("q", [row for row, in connection.execute(REASONED, (before,))])})
