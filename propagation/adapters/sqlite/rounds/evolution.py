"""EvolutionStore on SQLite.

One transaction publishes an evolution, whose barrier and round were staged before.
"""

import sqlite3
from collections.abc import Sequence
from functools import partial

from propagation.adapters.shared.router_map_bytes import pack_map, unpack_map
from propagation.adapters.shared.text_bodies import RULE, decompress_body
from propagation.adapters.shared.upper_bounds import get_bound
from propagation.adapters.sqlite.connection import read_next_number, reads, to_json, writes
from propagation.adapters.sqlite.learn.checkpoints import SqliteCheckpoints
from propagation.adapters.sqlite.learn.learn import publish_epoch
from propagation.adapters.sqlite.reason.texts import build_text_rows, pack_bodies, put_texts
from propagation.adapters.sqlite.rounds.rounds import publish
from propagation.model import EntryKind, EvolutionRun, LineageStep, RouterMaps
from propagation.ports import Lease, Publication

CURRENT = (
    "SELECT v.ref, v.body FROM client c CROSS JOIN profile_version v ON v.ref = c.ref AND "
    "v.version ="
    " (SELECT max(n.version) FROM profile_version n WHERE n.ref = c.ref) WHERE c.ref > ? ORDER "
    "BY c.ref LIMIT ?"
)
CLIENTS_A_READ = 2_000


class SqliteEvolution(SqliteCheckpoints):
    """Stores evolution runs, router maps and lineage."""

    async def publish_evolution(
        self, learn: Lease, round_lease: Lease, publication: Publication
    ) -> EvolutionRun:
        bodies = await pack_bodies(publication.texts)

        def work(connection: sqlite3.Connection) -> EvolutionRun:
            sequence = publish_epoch(
                connection,
                self._directory,
                EntryKind.EVOLUTION,
                publication.epoch,
                publication.start,
            )
            publish(connection, publication.round_, sequence, self._directory.now())
            put_texts(
                connection,
                build_text_rows([(text, sequence) for text in publication.texts], bodies),
                self._directory.now(),
            )
            connection.execute("DELETE FROM claim")
            run = self._store_run(connection, publication.get_published_run(sequence))
            connection.execute(
                "INSERT INTO router_map VALUES (?, ?, ?, ?)",
                (
                    run.run,
                    publication.map.from_epoch,
                    publication.epoch.number,
                    pack_map(publication.map),
                ),
            )
            connection.executemany(
                "INSERT INTO evolved_into VALUES (?, ?, ?, ?)",
                [(step.run, step.before, step.after, step.kind) for step in run.lineage()],
            )
            return run

        run = await self._database.write(work, learn, round_lease)
        self.sweep_after_commit()
        return run

    @writes
    def save_evolution(self, connection: sqlite3.Connection, run: EvolutionRun) -> EvolutionRun:
        return self._store_run(connection, run)

    def _store_run(self, connection: sqlite3.Connection, run: EvolutionRun) -> EvolutionRun:
        numbered = run.model_copy(
            update={"run": read_next_number(connection, "evolution"), "time": self._directory.now()}
        )
        connection.execute(
            "INSERT INTO evolution_run VALUES (?, ?, ?, ?)",
            (numbered.run, numbered.sequence, numbered.published, numbered.model_dump_json()),
        )
        return numbered

    @reads
    def get_evolution_runs(
        self, connection: sqlite3.Connection, limit: int, before: int | None = None
    ) -> Sequence[EvolutionRun]:
        return [
            EvolutionRun.model_validate_json(report)
            for (report,) in connection.execute(
                "SELECT report FROM evolution_run WHERE run < ? ORDER BY run DESC LIMIT ?",
                (get_bound(before), limit),
            )
        ]

    @reads
    def get_evolution_runs_at(
        self, connection: sqlite3.Connection, sequences: Sequence[int]
    ) -> Sequence[EvolutionRun]:
        return [
            EvolutionRun.model_validate_json(report)
            for (report,) in connection.execute(
                "SELECT report FROM evolution_run WHERE published AND sequence IN (SELECT value"
                " FROM json_each(?)) ORDER BY run",
                (to_json(sequences),),
            )
        ]

    @reads
    def get_router_maps(self, connection: sqlite3.Connection) -> RouterMaps:
        rows = connection.execute(
            "SELECT m.run, m.from_epoch, m.to_epoch, m.body FROM router_map m JOIN epoch e"
            " ON e.number = m.to_epoch"
            " WHERE e.era = (SELECT era FROM epoch ORDER BY number DESC LIMIT 1) ORDER BY m.run"
        )
        return RouterMaps([unpack_map(*row) for row in rows])

    @reads
    def get_router_lineage(self, connection: sqlite3.Connection) -> Sequence[LineageStep]:
        return [
            LineageStep(run=run, before=before, after=after, kind=kind)
            for run, before, after, kind in connection.execute(
                "SELECT run, before, after, kind FROM evolved_into ORDER BY run, before, after"
            )
        ]

    async def get_clients_with_rules(self, routers: Sequence[int]) -> Sequence[int]:
        numbers = {b"%d" % router for router in routers}

        def read(connection: sqlite3.Connection, after: int) -> tuple[int | None, list[int]]:
            rows = connection.execute(CURRENT, (after, CLIENTS_A_READ)).fetchall()
            matching = [
                ref
                for ref, body in rows
                if any(
                    rule.partition(b",")[0] in numbers
                    for rule in decompress_body(body).split(RULE)[1:]
                )
            ]
            return rows[-1][0] if rows else None, matching

        found: list[int] = []
        after: int | None = -1
        while after is not None:
            after, page = await self._database.read(partial(read, after=after))
            found.extend(page)
        return found
