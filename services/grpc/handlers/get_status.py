"""RunRound and GetStatus: what an operator asks."""

from collections.abc import Callable

from propagation.model.clients.client import ClientKind
from propagation.model.errors import LeaseHeld
from propagation.model.gauge import Gauge
from propagation.model.routers.round import Round
from propagation.model.routers.router import MessageReach
from propagation.model.usage import Usage
from propagation.v1 import propagation_pb2 as pb
from propagation.workflow.engine import Engine
from services.grpc.handlers.rounds_and_evolution import run_to_proto
from services.grpc.handlers.servicer import Context, Servicer
from services.runtime.measurements import Timings
from services.runtime.process import release
from services.schedule.calendar_job import CalendarJob
from services.security.roles import current_caller

DEAD_LETTERS_SHOWN = 20
DEAD_LETTERS_COUNTED = 100_000
ROUNDS_SHOWN = 200
REACH_MERGES = 200_000  # newest merges that the reach of messages is counted over
SWITCHED_OFF = "propagation is switched off (the setting propagate): no round was run"


class Operating(Servicer):
    """By hand what the schedule does, and how far everything is."""

    def _failing(self) -> dict[str, str]:
        """What fails, and what waits because it was told to."""
        pause = self._engine.pause_reason
        return {**self._worker.failing, "reasoner": pause} if pause else self._worker.failing

    async def RunRound(self, request: pb.RunRoundRequest, context: Context) -> pb.RunRoundResponse:
        try:
            done = await self._worker.run_round_for_caller(drain=request.drain)
        except LeaseHeld:
            return pb.RunRoundResponse(
                note="another process runs a round; GetStatus shows it when it is done"
            )
        if done is None:
            return pb.RunRoundResponse(
                note=await self._nothing_changed(request.drain)
                if self._engine.settings.propagate
                else SWITCHED_OFF
            )
        return pb.RunRoundResponse(round=round_to_proto(done))

    async def _nothing_changed(self, drained: bool) -> str:
        """Since when; and what a round would only see later."""
        store = self._engine.store
        last, waiting = (
            await store.last_round(),
            await store.recorded_through() - await store.reasoned_through(),
        )
        note = (
            f"nothing had changed since round {last.number}"
            if last
            else "there is nothing for a first round yet"
        )
        if waiting <= 0 or drained:  # what waits after a drain came since
            return note
        return f"{note}; {waiting} entries of the log wait to be reasoned, ask with drain to include them"

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
        told = str if current_caller().sees_places else self._redaction.redact
        reasoner, embedder = engine.models
        return pb.GetStatusResponse(
            recorded_through=recorded,
            learned_through=learned,
            reasoned_through=reasoned,
            learn_lag=recorded - learned,
            reason_lag=recorded - reasoned,
            users=await store.count_clients(ClientKind.USER),
            items=await store.count_clients(ClientKind.ITEM),
            epoch=epoch.number if epoch else 0,
            bootstrapped=epoch is not None,
            last_round=None if last is None else round_to_proto(last),
            last_evolution=run_to_proto(evolutions[0]) if evolutions else None,
            dead_letters=len(letters),
            newest_dead_letters=[
                pb.DeadLetter(sequence=sequence, reason=told(reason))
                for sequence, reason in letters[: -DEAD_LETTERS_SHOWN - 1 : -1]
            ],
            version=release(),
            policy=engine.settings.policy,
            failing={job: told(text) for job, text in self._failing().items()},
            reasoner=reasoner,
            embedder=embedder,
            propagate=engine.settings.propagate,
            spending=spending_to_proto(engine),
            budgets=[
                pb.Budget(name=one.name, used=one.used, limit=one.limit)
                for one in engine.expenses.budgets
            ],
            gauge=None if gauge is None else gauge_to_proto(gauge, course=request.history),
            rounds=[round_to_proto(done) for done in await store.last_rounds(ROUNDS_SHOWN)]
            if request.history
            else (),
            jobs=[await job_to_proto(job, told) for job in self._worker.calendar_jobs],
            reach=[reach_to_proto(reach) for reach in await store.message_reach(REACH_MERGES)]
            if request.history
            else (),
            parts=parts_to_proto(self._worker.timings),
        )


def reach_to_proto(reach: MessageReach) -> pb.RouterReach:
    return pb.RouterReach(
        router=reach.router,
        clients=reach.clients,
        merged=reach.merged,
        filtered=reach.filtered,
        empty=reach.empty,
        fell_out=reach.fell_out,
    )


def parts_to_proto(timings: Timings) -> list[pb.TimedPart]:
    parts = sorted(timings.parts.items(), key=lambda named: -named[1].seconds)
    return [
        pb.TimedPart(
            name=name, calls=part.calls, seconds=part.seconds, longest_seconds=part.longest
        )
        for name, part in parts
    ]


def spending_to_proto(engine: Engine) -> pb.Spending | None:
    """None for a reasoner that has cost nothing."""
    expenses, pipeline = engine.expenses, engine.pipeline
    if not expenses.all_runs:
        return None
    return pb.Spending(
        prompts=_prompts(expenses.this_run),
        ever=_prompts(expenses.all_runs),
        interactions=pipeline.done,
        redone=pipeline.redone,
    )


def _prompts(usage: Usage) -> list[pb.PromptSpending]:
    return [
        pb.PromptSpending(
            prompt=name,
            calls=spent.calls,
            cached=spent.cached,
            lost_parts=spent.lost,
            prompt_tokens=spent.prompt_tokens,
            completion_tokens=spent.completion_tokens,
            seconds=spent.seconds,
            money=spent.money,
        )
        for name, spent in usage.by_prompt
    ]


def gauge_to_proto(gauge: Gauge, *, course: bool) -> pb.Gauge:
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
            for point in gauge.course
        ]
        if course
        else (),
    )


async def job_to_proto(job: CalendarJob, told: Callable[[str], str]) -> pb.ScheduledJob:
    status = await job.status()
    state = status.state
    out = pb.ScheduledJob(name=job.name)
    if status.next_time is not None:
        out.next.FromDatetime(status.next_time)
    if state is not None and state.finished:
        out.last.FromMilliseconds(state.finished)
    if state is not None and state.failures:
        out.failures, out.error = state.failures, told(state.error)
        out.retry.FromMilliseconds(state.retry_at)
    return out


def round_to_proto(done: Round) -> pb.RoundReport:
    return pb.RoundReport(
        number=done.number,
        sequence=done.sequence,
        boundary=done.boundary,
        changed_clients=done.changed,
        touched_routers=done.touched,
        edges_opened=done.edges_opened,
        edges_closed=done.edges_closed,
        reached_clients=done.reached,
    )
