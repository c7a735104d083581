"""Measurements by hour and by day: the gauge, and what models cost."""

from collections.abc import Iterable
from typing import Self, TypeVar

from propagation.model.base import Term

HOUR_MS, DAY_MS = 3_600_000, 86_400_000
HOURS_KEPT, DAYS_KEPT = 31 * 24, 1_000


class GaugeMeasurement(Term):
    """The gauge at the end of a period; see Gauge.

    Attributes:
        start: Milliseconds since 1970, a multiple of `length`.
        length: Milliseconds: HOUR_MS or DAY_MS.
        interactions: How many interactions were ranked so far.
    """

    start: int
    length: int
    interactions: int
    with_propagation: float
    without: float
    standard_error: float | None

    def join(self, later: Self) -> Self:
        """Return a later measurement of this period in place of this one."""
        return later.model_copy(update={"start": self.start, "length": self.length})


class SpendingMeasurement(Term):
    """What calls of a language model cost in a period; see PromptCost.

    Attributes:
        start: Milliseconds since 1970, a multiple of `length`.
        length: Milliseconds: HOUR_MS or DAY_MS.
        seconds: Time spent waiting for answers.
    """

    start: int
    length: int
    calls: int
    cached: int
    prompt_tokens: int
    completion_tokens: int
    seconds: float
    money: float

    def join(self, later: Self) -> Self:
        """Return the sum of this measurement and a later one."""
        return self.model_copy(
            update={
                "calls": self.calls + later.calls,
                "cached": self.cached + later.cached,
                "prompt_tokens": self.prompt_tokens + later.prompt_tokens,
                "completion_tokens": self.completion_tokens + later.completion_tokens,
                "seconds": self.seconds + later.seconds,
                "money": self.money + later.money,
            }
        )


M = TypeVar("M", GaugeMeasurement, SpendingMeasurement)


class Measurements(Term):
    """Measurements of a graph, oldest first.

    Hours are kept for HOURS_KEPT hours, then joined to days in UTC, of which the last DAYS_KEPT are
    kept. So each list has at most HOURS_KEPT + DAYS_KEPT + 24 entries.
    """

    gauge: tuple[GaugeMeasurement, ...] = ()
    spending: tuple[SpendingMeasurement, ...] = ()

    def add(
        self, now: int, gauge: GaugeMeasurement | None, spending: SpendingMeasurement | None
    ) -> "Measurements":
        """Return these measurements with those of the present hour.

        Args:
            now: Milliseconds since 1970.
            gauge: It replaces the hour's gauge; None: nothing new.
            spending: It is added to the hour's spending; None: nothing new.
        """
        return Measurements(
            gauge=_thin((*self.gauge, *([gauge] if gauge else [])), now),
            spending=_thin((*self.spending, *([spending] if spending else [])), now),
        )

    def join_to_days(self) -> "Measurements":
        """Return these measurements with all hours joined to days."""
        return Measurements(
            gauge=_join(map(_to_day, self.gauge)), spending=_join(map(_to_day, self.spending))
        )

    def select(self, since: int, until: int) -> "Measurements":
        """Return the measurements of periods that begin between two times.

        Args:
            since, until: Milliseconds since 1970; the second one does not belong to the range.
        """
        return Measurements(
            gauge=tuple(one for one in self.gauge if since <= one.start < until),
            spending=tuple(one for one in self.spending if since <= one.start < until),
        )


def _thin(found: Iterable[M], now: int) -> tuple[M, ...]:
    """Join old hours to days, and drop old days.

    Measurements of one period are joined, too.
    """
    first_hour = (now - HOURS_KEPT * HOUR_MS) // DAY_MS * DAY_MS
    first_day = (now // DAY_MS - DAYS_KEPT) * DAY_MS
    return _join(
        one if one.start >= first_hour else _to_day(one) for one in found if one.start >= first_day
    )


def _to_day(one: M) -> M:
    return one.model_copy(update={"start": one.start // DAY_MS * DAY_MS, "length": DAY_MS})


def _join(found: Iterable[M]) -> tuple[M, ...]:
    joined: dict[tuple[int, int], M] = {}
    for one in found:
        period = (one.start, one.length)
        joined[period] = joined[period].join(one) if period in joined else one
    return tuple(sorted(joined.values(), key=lambda one: one.start))
