"""Months of nights on a test's clock: one run a night despite stops, failures and replicas."""

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from propagation.adapters.sqlite.store import SqliteStore
from propagation.model import ReasonerFailed
from propagation.workflow.concurrency import Leases
from services.config.cron import Calendar
from services.config.settings import ScheduleSettings
from services.runtime.measurements import Failures
from services.runtime.tasks import UninterruptedWork
from services.schedule.calendar_job import CalendarJob, CalendarTask, compute_retry_delay_ms

BERLIN = ZoneInfo("Europe/Berlin")
LOOK = timedelta(minutes=30)


class ManualClock:
    """A clock that a test sets."""

    def __init__(self, now):
        self.now = now

    def now_ms(self):
        return round(self.now.timestamp() * 1_000)


class Night:
    """The nightly work: notes when it runs, and fails as often as `failures_left` says."""

    def __init__(self, clock):
        self.clock = clock
        self.runs = []
        self.failures_left = 0

    async def run(self, engine):
        if self.failures_left:
            self.failures_left -= 1
            raise ReasonerFailed("the model timed out")
        self.runs.append(self.clock.now)

    async def ran_between(self, store, since, until):
        return any(since <= run.timestamp() * 1_000 <= until for run in self.runs)


@pytest.fixture
async def world(tmp_path):
    """(clock, nightly work, a function that makes the job of one more replica)."""
    clock = ManualClock(datetime(2026, 1, 1, 12, tzinfo=UTC))
    night, store = Night(clock), SqliteStore(tmp_path / "graph.db", clock)
    await store.open()

    def replica(name="one", cron="30 2 * * *", run=night.run, grace=None, failures=None):
        return CalendarJob(
            CalendarTask("evolution", None, run, night.ran_between),
            cron,
            SimpleNamespace(store=store, leases=Leases(store, name, 60)),
            ScheduleSettings(time_zone=BERLIN, misfire_grace_time=grace),
            clock,
            UninterruptedWork(),
            failures or Failures(),
        )

    yield clock, night, replica
    await store.close()


async def pass_time(clock, jobs, until, step=LOOK):
    while clock.now < until:
        clock.now += step
        for job in jobs:
            await job.check()


def test_a_run_that_fails_for_years_is_tried_again_at_the_longest_distance():
    schedule = ScheduleSettings(retry_first=60, retry_longest=3_600)
    assert [
        compute_retry_delay_ms(schedule, failures) for failures in (1, 2, 6, 7, 1_024, 1_025, 10**6)
    ] == [
        60_000,
        120_000,
        1_920_000,
        3_600_000,
        3_600_000,
        3_600_000,
        3_600_000,
    ]


async def test_a_run_by_a_call_is_shown_and_moves_no_night(world):
    clock, night, replica = world
    job = replica()
    await job.check()
    next_night = job.next_time(await job.state())
    clock.now += LOOK
    await job.note_run()
    state = await job.state()
    assert state.finished == clock.now_ms()
    assert (job.next_time(state), night.runs) == (next_night, [])


def list_nights(runs):
    return [run.astimezone(BERLIN).date() for run in runs]


@pytest.mark.slow
@pytest.mark.parametrize(
    "start", [datetime(2026, 1, 10, 12, tzinfo=UTC), datetime(2026, 8, 10, 12, tzinfo=UTC)]
)
async def test_ninety_nights_with_stops_across_daylight_saving(world, start):
    """Either change of the clock is among them. Stops of some hours or days are drawn; after each
    the job is a new one."""
    clock, night, replica = world
    clock.now, draw, expected = start, np.random.default_rng(5), []
    end = start + timedelta(days=90)
    await replica().check()
    while clock.now < end:
        up = min(clock.now + timedelta(hours=float(draw.uniform(1, 90))), end)
        await pass_time(clock, [replica()], up)
        if draw.random() < 0.7:
            clock.now += timedelta(hours=float(draw.uniform(0.2, 60)))
    calendar, next_night = Calendar("30 2 * * *", BERLIN), start
    while (next_night := calendar.after(next_night)) <= night.runs[-1]:
        expected.append(next_night)
    assert len(night.runs) > 60
    for before, after in zip([start, *night.runs], night.runs, strict=False):
        assert any(before < next_night <= after for next_night in expected), (
            "each run has a night of its own"
        )
    for next_night in expected:
        run = next(run for run in night.runs if run >= next_night)
        assert sum(next_night <= other < calendar.after(next_night) for other in night.runs) <= 1
        assert run - next_night < timedelta(hours=60) + LOOK, "none is forgotten"


@pytest.mark.parametrize(
    ("day", "at"),
    [
        (datetime(2026, 3, 28, 12, tzinfo=UTC), "03:00 +0200"),
        (datetime(2026, 10, 24, 12, tzinfo=UTC), "02:30 +0200"),
    ],
)
async def test_one_run_in_the_night_in_which_the_clocks_change(world, day, at):
    """02:30 does not exist on 29 March 2026 in Berlin, and exists twice on 25 October."""
    clock, night, replica = world
    clock.now = day
    job = replica()
    await job.check()
    await pass_time(clock, [job], day + timedelta(days=1), timedelta(minutes=5))
    assert [f"{run.astimezone(BERLIN):%H:%M %z}" for run in night.runs] == [at]


async def test_a_night_that_a_stopped_service_missed_is_caught_up_once_at_start(world):
    clock, night, replica = world
    await replica().check()
    clock.now += timedelta(days=5)
    await replica().check()
    await replica().check()
    assert len(night.runs) == 1
    await pass_time(clock, [replica()], clock.now + timedelta(days=1))
    assert len(night.runs) == 2, "and the next night is the next night's"


async def test_a_first_start_does_not_run_for_nights_before_it(world):
    _, night, replica = world
    await replica().check()
    assert night.runs == []


async def test_one_replica_runs_it(world):
    clock, night, replica = world
    jobs = [replica(name) for name in ("one", "two", "three")]
    await pass_time(clock, jobs, clock.now + timedelta(days=10))
    assert len(night.runs) == 10


async def test_a_failure_is_counted_shown_and_tried_again_with_back_off(world):
    clock, night, replica = world
    failures = Failures()
    job = replica(failures=failures)
    await job.check()
    clock.now, night.failures_left = datetime(2026, 1, 2, 2, tzinfo=UTC), 3
    tried = []
    while not night.runs:
        clock.now += timedelta(seconds=15)
        before = night.failures_left
        await job.check()
        if night.failures_left < before:
            tried.append(clock.now)
            assert "no usable answer" in failures.reasons["evolution"]
            assert "next try at 2026-01-02" in failures.reasons["evolution"]
            assert failures.quoting == set(), "a job's state quotes nobody"
            of_another_process = Failures()
            await replica("another", failures=of_another_process).check()
            assert of_another_process.reasons == failures.reasons
    waits = [
        (after - before).total_seconds()
        for before, after in zip(tried, [*tried[1:], *night.runs], strict=True)
    ]
    assert waits == [60, 120, 240]
    assert failures.reasons == {}
    assert failures.counters == {
        ("jobs_failed_total", "evolution"): 3,
        ("jobs_run_total", "evolution"): 1,
    }


async def test_failures_for_longer_than_a_night_leave_one_run(world):
    clock, night, replica = world
    job = replica()
    await job.check()
    night.failures_left = 60
    await pass_time(clock, [job], clock.now + timedelta(days=3, hours=8))
    assert night.failures_left == 0
    assert list_nights(night.runs) == [datetime(2026, 1, 4).date()]


async def test_a_clock_that_is_turned_back_runs_no_night_twice_and_stops_for_none(world):
    clock, night, replica = world
    job = replica()
    await job.check()
    await pass_time(clock, [job], clock.now + timedelta(days=1))
    clock.now -= timedelta(hours=14)
    await pass_time(clock, [job], clock.now + timedelta(hours=14))
    assert len(night.runs) == 1
    clock.now -= timedelta(days=300)
    await pass_time(clock, [job], clock.now + timedelta(days=3))
    assert len(night.runs) == 4


async def test_what_is_later_than_the_grace_is_left_out(world):
    clock, night, replica = world
    job = replica(cron="30 2 * * 0", grace=3_600)
    await job.check()
    clock.now = datetime(2026, 1, 4, 6, tzinfo=UTC)  # Sunday, hours after half past two
    await job.check()
    assert night.runs == []
    clock.now = datetime(2026, 1, 11, 2, tzinfo=UTC)
    await job.check()
    assert len(night.runs) == 1


class Killed(BaseException):
    """The process is gone."""


@pytest.mark.parametrize("committed", [False, True])
async def test_a_process_that_dies_within_a_run_leaves_it_due_unless_it_was_committed(
    world, committed
):
    clock, night, replica = world

    async def die(engine):
        if committed:
            night.runs.append(clock.now)
        raise Killed

    job = replica(run=die)
    await job.check()
    clock.now += timedelta(days=1)
    with pytest.raises(Killed):
        await job.check()
    await replica("the next process").check()
    assert len(night.runs) == 1
