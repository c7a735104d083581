"""RunRound and GetStatus: what an operator asks."""

from propagation.model.round import Round
from propagation.v1 import propagation_pb2 as pb
from services.grpc.base import Context, Servicer


class Operating(Servicer):
    """By hand what the schedule does, and how far everything is."""

    async def RunRound(self, request: pb.RunRoundRequest, context: Context) -> pb.RunRoundResponse:
        if request.drain:
            await self._engine.drain()
        done = await self._worker.run_round()
        if done is None:
            return pb.RunRoundResponse(note="nothing had changed")
        return pb.RunRoundResponse(round=round_to_proto(done))


def round_to_proto(done: Round) -> pb.RoundReport:
    return pb.RoundReport(number=done.number, sequence=done.sequence, boundary=done.boundary, changed_clients=done.changed,
                          touched_routers=done.touched, edges_opened=done.edges_opened, edges_closed=done.edges_closed,
                          reached_clients=done.reached)
