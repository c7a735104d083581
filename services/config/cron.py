"""When a cron line is due in a time zone. Each of its local times counts once: one that daylight
saving leaves out is due at the end of the gap, one that comes twice is due the first time."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from apscheduler.triggers.cron import CronTrigger

FIELDS = "minute hour day month weekday"
WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat", "sun")
# Every day of the year, leap days too, falls on every weekday within 28 years; a century without a
# leap day adds 12.
SEARCHED = timedelta(days=366 * 41)
MINUTE = timedelta(minutes=1)


class Calendar:
    """`cron`: five fields as crontab has them (Sunday is 0 or 7; a day of month and a weekday must
    both hold). Raises ValueError where it is no cron line, is never due, or the zone is not known.
    """

    def __init__(self, cron: str, time_zone: str) -> None:
        self._zone = zone_of(time_zone)
        fields = cron.split()
        if len(fields) != len(FIELDS.split()):
            raise ValueError(f"{len(fields)} fields; give {FIELDS}, for example 0 3 * * *")
        # The trigger only walks the calendar: in UTC, where each time comes once.
        self._times = CronTrigger(
            minute=fields[0],
            hour=fields[1],
            day=fields[2],
            month=fields[3],
            day_of_week=_weekdays(fields[4]),
            timezone=UTC,
        )
        if self.after(datetime(2000, 1, 1, tzinfo=UTC)) is None:
            raise ValueError("is never due: the calendar has no such day")

    def after(self, moment: datetime) -> datetime | None:
        """The first time it is due after `moment`, in UTC; None where there is none in the next
        forty years. Local times before the moment's own are never due after it: `_instant` rises
        with them."""
        local = moment.astimezone(self._zone).replace(tzinfo=None)
        return next(
            (
                due
                for time in self._local_times(local, local + SEARCHED)
                if (due := self._instant(time)) > moment
            ),
            None,
        )

    def _local_times(self, start: datetime, end: datetime) -> Iterator[datetime]:
        now = start.replace(tzinfo=UTC)
        while (found := self._times.get_next_fire_time(None, now)) is not None and found.replace(
            tzinfo=None
        ) < end:
            yield found.replace(tzinfo=None)
            now = found + MINUTE

    def _instant(self, local: datetime) -> datetime:
        """It never goes back where `local` goes forward."""
        while not self._exists(local):
            local += MINUTE
        return local.replace(tzinfo=self._zone, fold=0).astimezone(UTC)

    def _exists(self, local: datetime) -> bool:
        there = local.replace(tzinfo=self._zone, fold=0).astimezone(UTC)
        return there.astimezone(self._zone).replace(tzinfo=None) == local


def zone_of(name: str) -> ZoneInfo:
    """Raises ValueError where there is none of this name."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ValueError("is no time zone; give a name such as UTC or Europe/Berlin") from error


def _weekdays(field: str) -> str:
    """crontab's numbers, of which the trigger's own differ, as names; a range may start on Sunday."""
    return ",".join(_weekday_part(part) for part in field.lower().split(","))


def _weekday_part(part: str) -> str:
    days, slash, step = part.partition("/")
    if days == "*":
        if not slash:
            return "*"
        days = "0-6"
    first, dash, last = days.partition("-")
    if not first.isdecimal() or (dash and not last.isdecimal()):
        return part
    start, end = int(first), int(last) if dash else 6 if slash else int(first)
    if not (start <= end < len(WEEKDAYS)) or (slash and not (step.isdecimal() and int(step))):
        raise ValueError(f"weekday {part!r}: give 0 to 7, or names such as mon-fri")
    return ",".join(WEEKDAYS[day] for day in range(start, end + 1, int(step) if slash else 1))
