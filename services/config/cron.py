"""The times of a cron line in a time zone.

Each local time counts once. A time that daylight saving leaves out is due at the end of the gap; a
time that comes twice is due when it comes first.
"""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from apscheduler.triggers.cron import CronTrigger

FIELDS = "minute hour day month weekday"
WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat", "sun")
# Every day of the year, leap days too, falls on every weekday within 28 years; a century without a
# leap day adds 12.
SEARCH_SPAN = timedelta(days=366 * 41)
MINUTE = timedelta(minutes=1)


class Calendar:
    """The times at which a cron line is due.

    Args:
        cron: Five fields as in crontab. Sunday is 0 or 7; a day of the month and a weekday must
            both match.

    Raises:
        ValueError: The text is no cron line, or the line is never due.
    """

    def __init__(self, cron: str, zone: ZoneInfo) -> None:
        self._zone = zone
        fields = cron.split()
        if len(fields) != len(FIELDS.split()):
            raise ValueError(f"has {len(fields)} fields; give {FIELDS}, for example 0 3 * * *")
        # The trigger only walks the calendar. In UTC each time comes once.
        self._times = CronTrigger(
            minute=fields[0],
            hour=fields[1],
            day=fields[2],
            month=fields[3],
            day_of_week=",".join(map(_name_weekdays, fields[4].lower().split(","))),
            timezone=UTC,
        )
        if self.after(datetime(2000, 1, 1, tzinfo=UTC)) is None:
            raise ValueError("is never due: the calendar has no such day")

    def after(self, moment: datetime) -> datetime | None:
        """Return the first time after `moment`, in UTC.

        Returns:
            None if there is none within SEARCH_SPAN, 41 years.
        """
        # The trigger gets local times, written as if in UTC. Times before `local` need no look:
        # `_to_utc` keeps their order, so that none is due after the moment.
        local = moment.astimezone(self._zone).replace(tzinfo=UTC)
        time = self._times.get_next_fire_time(None, local)
        while time is not None and time < local + SEARCH_SPAN:
            due = self._to_utc(time.replace(tzinfo=None))
            if due > moment:
                return due
            time = self._times.get_next_fire_time(None, time + MINUTE)
        return None

    def _to_utc(self, local: datetime) -> datetime:
        """Convert a local time, or the next one that exists, to UTC.

        A later local time is never earlier in UTC.
        """
        while True:
            in_utc = local.replace(tzinfo=self._zone, fold=0).astimezone(UTC)
            exists = in_utc.astimezone(self._zone).replace(tzinfo=None) == local
            if exists:
                return in_utc
            local += MINUTE


def _name_weekdays(part: str) -> str:
    """Replace crontab's weekday numbers by names, as the trigger counts from Monday."""
    days, slash, step = part.partition("/")
    if days == "*":
        days = "0-6"
    first, dash, last = days.partition("-")
    if not dash:
        last = "6" if slash else first
    if not (first.isdecimal() and last.isdecimal()):
        return part
    start, end = int(first), int(last)
    if not (start <= end < len(WEEKDAYS)) or (slash and not (step.isdecimal() and int(step))):
        raise ValueError(f"weekday {part!r}: give 0 to 7, or names such as mon-fri")
    return ",".join(WEEKDAYS[day] for day in range(start, end + 1, int(step) if slash else 1))
