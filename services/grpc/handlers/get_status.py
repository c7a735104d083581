"""GetStatus and its parts."""

from collections.abc import Callable, Mapping

from google.protobuf.timestamp_pb2 import Timestamp

from propagation.model import ClientKind, Gauge, Usage, describe_loss
from propagation.release import release
from propagation.v1 import propagation_pb2 as pb
from propagation.workflow.engine import Engine
from services.grpc.convert import evolution_to_proto, round_to_proto, time_to_proto
from services.grpc.handlers.predictors import pace_to_proto, predictors_to_proto
from services.grpc.handlers.servicer import Context, Servicer
from services.runtime.process import SystemClock
from services.schedule.calendar_job import CalendarJob
from services.security.roles import admitted_caller, choose_redaction_for_caller

DEAD_LETTERS_SHOWN = 20
DEAD_LETTERS_COUNTED = 100_000
ROUNDS_SHOWN = 200
HIDDEN = "see the service's log: the reason may quote users' texts"
REACH_MERGES = 200_000  # the newest merges, over which the reach of messages is counted


def spending_to_proto(engine: Engine) -> pb.Spending | None:
    """Convert what calls of models have cost.

    Returns:
        None if no run has had any cost.
    """
    expenses = engine.expenses
    if not expenses.all_runs:
        return None
    done, redone = engine.pipeline_counts
    return pb.Spending(
        prompts=_usage_to_proto(expenses.this_run),
        ever=_usage_to_proto(expenses.all_runs),
        interactions=done,
        redone=redone,
    )


def _usage_to_proto(usage: Usage) -> list[pb.PromptSpending]:
    return [
        pb.PromptSpending(
            prompt=name,
            calls=cost.calls,
            cached=cost.cached,
            lost_parts=cost.lost,
            prompt_tokens=cost.prompt_tokens,
            completion_tokens=cost.completion_tokens,
            seconds=cost.seconds,
            money=cost.money,
            losses=_losses_to_proto(cost.losses),
            parts=cost.parts,
            refused=_losses_to_proto(cost.refused),
        )
        for name, cost in usage.by_prompt
    ]


def _losses_to_proto(losses: Mapping[str, int]) -> list[pb.Loss]:
    """Convert counts by reason, the largest first.

    A reason of another release has no meaning here.
    """
    return [
        pb.Loss(
            reason=reason,
            meaning=describe_loss(reason),
            count=count,
        )
        for reason, count in sorted(losses.items(), key=lambda counted: (-counted[1], counted[0]))
    ]


def gauge_to_proto(gauge: Gauge, *, with_course: bool) -> pb.Gauge:
    """Convert the gauge, with its course over time if asked for."""
    course = gauge.course if with_course else ()
    return pb.Gauge(
        interactions=gauge.interactions,
        with_propagation=gauge.with_propagation,
        without=gauge.without,
        standard_error=gauge.standard_error,
        course=[
            pb.GaugePoint(
                through=point.through,
                interactions=point.interactions,
                with_propagation=point.with_propagation,
                without=point.without,
            )
            for point in course
        ],
    )


async def job_to_proto(job: CalendarJob, redact: Callable[[str], str]) -> pb.ScheduledJob:
    """Convert the state of a calendar job.

    Args:
        redact: Hides the parts of the job's error that the caller may not see.
    """
    state = await job.state()
    due = job.next_time(state)
    return pb.ScheduledJob(
        name=job.name,
        last=time_to_proto(state.finished),
        next=time_to_proto(int(due.timestamp() * 1_000)) if due is not None else None,
        failures=state.failures,
        error=redact(state.error) if state.failures else None,
        retry=time_to_proto(state.retry_at),
    )


class GetStatusHandler(Servicer):
    """Reports the service's progress, its condition and its costs."""

    async def GetStatus(
        self, request: pb.GetStatusRequest, context: Context
    ) -> pb.GetStatusResponse:
        engine, store = self._engine, self._store
        recorded, learned, reasoned = (
            await store.get_recorded_through(),
            await store.get_learned_through(),
            await store.get_reasoned_through(),
        )
        backlog = await store.count_backlog()
        last, epoch = await store.get_last_round(), await store.get_current_epoch()
        letters = await store.get_dead_letters(DEAD_LETTERS_COUNTED)
        gauge = await engine.gauge()
        evolutions = await store.get_evolution_runs(1)
        reads_errors = admitted_caller.get().reads_model_errors
        hidden = frozenset[str]() if reads_errors else self._worker.quoting
        redact = choose_redaction_for_caller(self._redact)
        rounds = await store.get_last_rounds(ROUNDS_SHOWN) if request.history else ()
        reach = await store.count_message_reach(REACH_MERGES) if request.history else ()
        return pb.GetStatusResponse(
            recorded_through=recorded,
            learned_through=learned,
            reasoned_through=reasoned,
            learn_lag=max(recorded - learned, 0),
            reason_lag=max(recorded - reasoned, 0),
            oldest_to_learn=await self._find_oldest_waiting(learned, recorded),
            oldest_to_reason=await self._find_oldest_waiting(reasoned, recorded),
            caller_roles=sorted(admitted_caller.get().roles),
            clients_to_describe=engine.cold_start.outstanding,
            described_at=time_to_proto(_compute_end(engine.cold_start.seconds_left)),
            interactions_to_reason=backlog.pending,
            reasoned_above=backlog.done_above,
            predictors=predictors_to_proto(
                await engine.get_predictor_records(), engine.reasoner.predictor
            ),
            pace=(
                pace_to_proto(engine.pace, backlog.pending, SystemClock().now_ms())
                if engine.reasoner.asks_model
                else None
            ),
            users=await store.count_clients(ClientKind.USER),
            items=await store.count_clients(ClientKind.ITEM),
            epoch=epoch.number if epoch else 0,
            bootstrapped=epoch is not None,
            last_round=round_to_proto(last) if last else None,
            last_evolution=evolution_to_proto(evolutions[0]) if evolutions else None,
            dead_letters=len(letters),
            newest_dead_letters=[
                pb.DeadLetter(sequence=sequence, reason=redact(reason) if reads_errors else "")
                for sequence, reason in letters[: -DEAD_LETTERS_SHOWN - 1 : -1]
            ],
            version=release(),
            policy=engine.settings.policy,
            failing={
                name: HIDDEN if name in hidden else redact(reason)
                for name, reason in self._worker.failing.items()
            },
            reasoner=engine.reasoner.name,
            router_writer=engine.reasoner.router_writer,
            embedder=engine.embedder.name,
            propagate=engine.propagates,
            spending=spending_to_proto(engine),
            budgets=[
                pb.Budget(name=budget.name, used=budget.used, limit=budget.limit)
                for budget in engine.expenses.budgets
            ],
            gauge=(
                gauge_to_proto(gauge, with_course=request.history or request.gauge_course)
                if gauge
                else None
            ),
            jobs=[await job_to_proto(job, redact) for job in self._worker.calendar_jobs],
            parts=[
                pb.TimedPart(
                    name=name, calls=part.calls, seconds=part.seconds, longest_seconds=part.longest
                )
                for name, part in sorted(
                    self._worker.timings.items(), key=lambda named: -named[1].seconds
                )
            ],
            rounds=[round_to_proto(round_) for round_ in rounds],
            reach=[
                pb.RouterReach(
                    router=router.router,
                    clients=router.clients,
                    merged=router.merged,
                    filtered=router.filtered,
                    empty=router.empty,
                    fell_out=router.fell_out,
                )
                for router in reach
            ],
        )

    async def _find_oldest_waiting(self, through: int, recorded: int) -> Timestamp | None:
        """Return when the oldest waiting entry was recorded, if any waits."""
        if through >= recorded:
            return None
        return time_to_proto(await self._store.get_time_of_next(through))


def _compute_end(seconds_left: float | None) -> int:
    """Return when the work ends, in milliseconds since 1970; 0 if unknown."""
    return SystemClock().now_ms() + int(1_000 * seconds_left) if seconds_left else 0
