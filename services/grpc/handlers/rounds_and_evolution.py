"""RunRound, EvolveRouters and ListEvolutionRuns."""

from propagation.model import InvalidInput, LeaseHeld
from propagation.v1 import propagation_pb2 as pb
from services.grpc.convert.vocabulary import evolution_to_proto, round_to_proto
from services.grpc.handlers.servicer import Context, Servicer
from services.grpc.requests.paging import parse_page

SWITCHED_OFF = "propagation is switched off (the setting propagate): no round was run"
ELSEWHERE = "another process is running a round; GetStatus shows it when it is done"


class RoundsAndEvolutionHandler(Servicer):
    """Runs by hand what the schedule runs, and lists evolution runs."""

    async def RunRound(self, request: pb.RunRoundRequest, context: Context) -> pb.RunRoundResponse:
        try:
            done = await self._worker.run_round(drain=request.drain)
        except LeaseHeld:
            return pb.RunRoundResponse(note=ELSEWHERE)
        if done is not None:
            return pb.RunRoundResponse(round=round_to_proto(done))
        if not self._engine.settings.propagate:
            return pb.RunRoundResponse(note=SWITCHED_OFF)
        return pb.RunRoundResponse(note=await self._explain_no_change(drained=request.drain))

    async def _explain_no_change(self, *, drained: bool) -> str:
        """Say since when nothing has changed, and what only a later round would see."""
        store = self._engine.store
        last = await store.last_round()
        note = "there is nothing for a first round yet"
        if last:
            note = f"nothing had changed since round {last.number}"
        unreasoned = await store.recorded_through() - await store.reasoned_through()
        if unreasoned <= 0 or drained:  # entries that wait after a drain are newer than the call
            return note
        return (
            f"{note}; {unreasoned} entries of the log wait to be reasoned,"
            " ask with drain to include them"
        )

    async def EvolveRouters(
        self, request: pb.EvolveRoutersRequest, context: Context
    ) -> pb.EvolveRoutersResponse:
        undo = request.undo_run if request.HasField("undo_run") else None
        if undo is not None and undo < 1:
            raise InvalidInput("undo_run", f"is {undo}; runs are numbered from 1")
        run = await self._worker.run_uninterrupted(
            self._engine.evolve(dry_run=request.dry_run, undo=undo)
        )
        return pb.EvolveRoutersResponse(run=evolution_to_proto(run))

    async def ListEvolutionRuns(
        self, request: pb.ListEvolutionRunsRequest, context: Context
    ) -> pb.ListEvolutionRunsResponse:
        page = parse_page(request, "evolution runs")  # starts before the run that its token names
        runs = await self._engine.evolution_runs(page.size + 1, page.start or None)
        more = len(runs) > page.size
        return pb.ListEvolutionRunsResponse(
            runs=[evolution_to_proto(run) for run in runs[: page.size]],
            next_page_token=page.next_token(runs[page.size - 1].run) if more else "",
        )
