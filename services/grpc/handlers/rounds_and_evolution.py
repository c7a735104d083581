"""EvolveRouters and ListEvolutionRuns."""

from google.protobuf.timestamp_pb2 import Timestamp

from propagation.model.errors import InvalidInput
from propagation.model.routers.evolution import EvolutionKind, EvolutionRun, LineageStep
from propagation.v1 import propagation_pb2 as pb
from services.grpc.handlers.servicer import Context, Servicer
from services.grpc.requests.paging import page_size_of, start_of, token_for

KINDS = {
    EvolutionKind.SPLIT: pb.EVOLUTION_KIND_SPLIT,
    EvolutionKind.MERGE: pb.EVOLUTION_KIND_MERGE,
    EvolutionKind.REWRITE: pb.EVOLUTION_KIND_REWRITE,
}
QUESTION = "evolution runs"


class Evolving(Servicer):
    """By hand what the nightly job does, and what came of it."""

    async def EvolveRouters(
        self, request: pb.EvolveRoutersRequest, context: Context
    ) -> pb.EvolveRoutersResponse:
        undo = request.undo_run if request.HasField("undo_run") else None
        if undo is not None and undo < 1:
            raise InvalidInput("undo_run", f"is {undo}; runs are numbered from 1")
        run = await self._worker.evolve_for_caller(dry_run=request.dry_run, undo=undo)
        return pb.EvolveRoutersResponse(run=run_to_proto(run))

    async def ListEvolutionRuns(
        self, request: pb.ListEvolutionRunsRequest, context: Context
    ) -> pb.ListEvolutionRunsResponse:
        size = page_size_of(request.page_size if request.HasField("page_size") else None)
        before = start_of(request.page_token, QUESTION)
        runs = await self._engine.evolution_runs(size + 1, before or None)
        more = len(runs) > size
        return pb.ListEvolutionRunsResponse(
            runs=[run_to_proto(run) for run in runs[:size]],
            next_page_token=token_for(QUESTION, runs[size - 1].run) if more else "",
        )


def run_to_proto(run: EvolutionRun) -> pb.EvolutionRun:
    out = pb.EvolutionRun(
        run=run.run,
        sequence=run.sequence,
        published=run.published,
        verdict=run.verdict,
        log_loss_before=run.log_loss_before,
        log_loss_after=run.log_loss_after,
        standard_error=run.standard_error,
        undoes=run.undoes,
        changes=[
            pb.EvolutionChange(
                kind=KINDS[change.kind],
                before=change.before,
                after=change.after,
                reason=change.reason,
            )
            for change in run.changes
        ],
    )
    if run.time:
        out.time.CopyFrom(Timestamp(seconds=run.time // 1000, nanos=run.time % 1000 * 1_000_000))
    return out


def step_to_proto(step: LineageStep) -> pb.Lineage:
    return pb.Lineage(
        before=step.before, after=step.after, kind=KINDS[EvolutionKind(step.kind)], run=step.run
    )
