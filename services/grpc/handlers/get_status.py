"""GetStatus."""

from propagation.model import ClientKind
from propagation.v1 import propagation_pb2 as pb
from services.grpc.convert.status import (
    gauge_to_proto,
    job_to_proto,
    reach_to_proto,
    spending_to_proto,
    timings_to_proto,
)
from services.grpc.convert.vocabulary import evolution_to_proto, round_to_proto
from services.grpc.handlers.servicer import Context, Servicer
from services.runtime.process import release
from services.security.roles import current_caller

DEAD_LETTERS_SHOWN = 20
DEAD_LETTERS_COUNTED = 100_000
ROUNDS_SHOWN = 200
REACH_MERGES = 200_000  # the newest merges, over which the reach of messages is counted


class GetStatusHandler(Servicer):
    """Reports how far the service has come, how it fares, and what it cost."""

    def _failing(self) -> dict[str, str]:
        """List what fails, and the reasoner if it was told to pause."""
        pause = self._engine.pause_reason
        return {**self._worker.failing, "reasoner": pause} if pause else self._worker.failing

    async def GetStatus(
        self, request: pb.GetStatusRequest, context: Context
    ) -> pb.GetStatusResponse:
        store, engine = self._engine.store, self._engine
        recorded, learned, reasoned = (
            await store.recorded_through(),
            await store.learned_through(),
            await store.reasoned_through(),
        )
        last, epoch = await store.last_round(), await store.current_epoch()
        letters = await store.dead_letters(DEAD_LETTERS_COUNTED)
        gauge = await engine.gauge()
        evolutions = await store.evolution_runs(1)
        redact = str if current_caller().sees_places else self._redaction.redact
        answer = pb.GetStatusResponse(
            recorded_through=recorded,
            learned_through=learned,
            reasoned_through=reasoned,
            learn_lag=recorded - learned,
            reason_lag=recorded - reasoned,
            users=await store.count_clients(ClientKind.USER),
            items=await store.count_clients(ClientKind.ITEM),
            epoch=epoch.number if epoch else 0,
            bootstrapped=epoch is not None,
            last_round=round_to_proto(last) if last else None,
            last_evolution=evolution_to_proto(evolutions[0]) if evolutions else None,
            dead_letters=len(letters),
            newest_dead_letters=[
                pb.DeadLetter(sequence=sequence, reason=redact(reason))
                for sequence, reason in letters[: -DEAD_LETTERS_SHOWN - 1 : -1]
            ],
            version=release(),
            policy=engine.settings.policy,
            failing={name: redact(reason) for name, reason in self._failing().items()},
            reasoner=engine.reasoner_name,
            embedder=engine.embedder_name,
            propagate=engine.settings.propagate,
            spending=spending_to_proto(engine),
            budgets=[
                pb.Budget(name=budget.name, used=budget.used, limit=budget.limit)
                for budget in engine.expenses.budgets
            ],
            gauge=gauge_to_proto(gauge, with_course=request.history) if gauge else None,
            jobs=[await job_to_proto(job, redact) for job in self._worker.calendar_jobs],
            parts=timings_to_proto(self._worker.timings),
        )
        if request.history:
            rounds = await store.last_rounds(ROUNDS_SHOWN)
            reach = await store.message_reach(REACH_MERGES)
            answer.rounds.extend(round_to_proto(round_) for round_ in rounds)
            answer.reach.extend(reach_to_proto(router) for router in reach)
        return answer
