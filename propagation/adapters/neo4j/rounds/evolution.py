"""Evolution runs, router maps and lineage (EvolutionStore).

One transaction publishes an evolution; its barrier and its round were staged before.
"""

from collections.abc import Sequence

from propagation.adapters.neo4j.connection import Transaction
from propagation.adapters.neo4j.learn.learn import publish_epoch
from propagation.adapters.neo4j.maintenance.sweeper import Neo4jSweeper
from propagation.adapters.neo4j.reason.text_changes import prepare_texts
from propagation.adapters.neo4j.reason.texts import create_texts
from propagation.adapters.neo4j.record.log import lock_log
from propagation.adapters.neo4j.rounds.edges import Neo4jEdges
from propagation.adapters.neo4j.rounds.rounds import check_round_is_next, publish_staged_round
from propagation.adapters.shared.router_map_bytes import pack_map, unpack_map
from propagation.adapters.shared.upper_bounds import get_bound
from propagation.model import EntryKind, EvolutionRun, LineageStep, RouterMap, RouterMaps
from propagation.ports import Lease, Publication


class Neo4jEvolution(Neo4jEdges, Neo4jSweeper):
    """Stores and reads evolution runs."""

    async def publish_evolution(
        self, learn: Lease, round_lease: Lease, publication: Publication
    ) -> EvolutionRun:
        new = prepare_texts(publication.texts)

        async def work(transaction: Transaction) -> EvolutionRun:
            await check_round_is_next(transaction, publication.round_)
            end = await lock_log(transaction)
            await transaction.execute("reason/claims/delete_claims")
            sequence = await publish_epoch(
                transaction, end, EntryKind.EVOLUTION, publication.epoch, publication.start
            )
            await publish_staged_round(transaction, publication.round_, sequence)
            await create_texts(transaction, new, [sequence] * len(new.texts), ())
            run = await _create_run(
                transaction,
                end.at,
                publication.get_published_run(sequence),
                publication.map,
                publication.epoch.number,
            )
            steps = run.lineage()
            await transaction.execute(
                "rounds/staging/create_routers",
                rows=sorted({number for step in steps for number in (step.before, step.after)}),
            )
            await transaction.execute(
                "rounds/evolution/create_lineage",
                rows=[[step.run, step.before, step.after, step.kind] for step in steps],
            )
            return run

        run = await self._database.write(work, learn, round_lease)
        self.set_sequences_after_commit(
            publication.round_.model_copy(update={"sequence": run.sequence})
        )
        self.sweep_after_commit()
        return run

    async def save_evolution(self, run: EvolutionRun) -> EvolutionRun:
        async def work(transaction: Transaction) -> EvolutionRun:
            return await _create_run(transaction, (await lock_log(transaction)).at, run)

        return await self._database.write(work)

    async def get_evolution_runs(
        self, limit: int, before: int | None = None
    ) -> Sequence[EvolutionRun]:
        rows = await self._database.rows(
            "rounds/evolution/list_runs", before=get_bound(before), limit=limit
        )
        return [EvolutionRun.model_validate_json(report) for (report,) in rows]

    async def get_evolution_runs_at(self, sequences: Sequence[int]) -> Sequence[EvolutionRun]:
        rows = await self._database.rows("rounds/evolution/runs_at", sequences=list(sequences))
        return [EvolutionRun.model_validate_json(report) for (report,) in rows]

    async def get_router_maps(self) -> RouterMaps:
        return RouterMaps(
            [
                unpack_map(run, from_epoch, to_epoch, bytes(body))
                for run, from_epoch, to_epoch, body in await self._database.rows(
                    "rounds/evolution/list_maps"
                )
            ]
        )

    async def get_router_lineage(self) -> Sequence[LineageStep]:
        return [
            LineageStep(run=run, before=before, after=after, kind=kind)
            for run, before, after, kind in await self._database.rows(
                "rounds/evolution/list_lineage"
            )
        ]

    async def get_clients_with_rules(self, routers: Sequence[int]) -> Sequence[int]:
        return [
            row[0]
            for row in await self._database.rows(
                "rounds/evolution/clients_with_rules", routers=list(routers)
            )
        ]


async def _create_run(
    transaction: Transaction,
    time: int,
    run: EvolutionRun,
    map_: RouterMap | None = None,
    to_epoch: int | None = None,
) -> EvolutionRun:
    """Store a run under the next number.

    Args:
        map_: The router map of a published run; None for another run.
        to_epoch: The epoch that a published run opened; None for another run.

    Returns:
        The run with its number and time.
    """
    numbered = run.model_copy(
        update={"run": await transaction.value("rounds/evolution/take_run_number"), "time": time}
    )
    await transaction.execute(
        "rounds/evolution/create_run",
        run=numbered.run,
        sequence=numbered.sequence,
        published=numbered.published,
        time=time,
        report=numbered.model_dump_json(),
        from_epoch=map_.from_epoch if map_ else None,
        to_epoch=to_epoch,
        map=pack_map(map_) if map_ else None,
    )
    return numbered
