"""Succession of routers: which ones still have their numbers.

A merge gives a router's number up, an undo gives it back, a later split gives it to another router,
and a bootstrap gives all numbers to new routers.

Source: `docs/evolution.md`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from propagation.model.routers.evolution import EvolutionRun


class Undoable(Protocol):
    """A published run, by what undoing it needs."""

    @property
    def run(self) -> int:
        """Number of the run."""

    @property
    def undoes(self) -> int | None:
        """The run that this one undid; None if it is no undo."""


R = TypeVar("R", bound=Undoable)


def drop_undone_runs(runs: Iterable[R]) -> list[R]:
    """Leave out runs that were undone, and the runs that undid them.

    The routers of before both, and weights written to them, have their old numbers again.

    Args:
        runs: Runs or their maps, oldest first.
    """
    kept: list[R] = []
    places: dict[int, int] = {}
    for one in runs:
        if one.undoes is not None and one.undoes in places:
            for undone in kept[places[one.undoes] :]:
                del places[undone.run]
            del kept[len(places) :]
        else:
            places[one.run] = len(kept)
            kept.append(one)
    return kept


def find_undoing_runs(runs: Sequence[Undoable]) -> dict[int, int]:
    """Return the run that undid each run that is undone now.

    A run whose undo was undone is not among them.

    Args:
        runs: Runs or their maps, oldest first.
    """
    undone: dict[int, int] = {}
    for one in reversed(runs):
        if one.undoes is not None and one.run not in undone:
            undone.setdefault(one.undoes, one.run)
    return undone


@dataclass(frozen=True)
class PublishedRun:
    """The routers whose numbers a published run gave up.

    Attributes:
        sequence: Sequence of the publication.
        undoes: The run that this one undid; None if it is no undo.
        merged: By number that was given up, the number of the router that it was merged into.
    """

    run: int
    sequence: int
    undoes: int | None = None
    merged: Mapping[int, int] = field(default_factory=dict)

    @classmethod
    def from_report(cls, report: EvolutionRun) -> "PublishedRun":
        """Take the numbers from a report.

        Its words are left out, because an erasure may change them.
        """
        merged = {
            number: change.after[0]
            for change in report.changes
            for number in change.before
            if number not in change.after
        }
        return cls(report.run, report.sequence, report.undoes, merged)


@dataclass(frozen=True)
class RouterEnd:
    """The event by which a router lost its number for good.

    Attributes:
        sequence: Sequence of the event.
        run: The run that merged the router; None if a bootstrap replaced all routers.
        merged_into: Number of the router that it was merged into; None likewise.
    """

    sequence: int
    run: int | None = None
    merged_into: int | None = None


@dataclass(frozen=True)
class RouterSuccession:
    """What became of routers up to now.

    Attributes:
        bootstrap: Sequence of the newest bootstrap; 0 before the first.
        bootstrap_time: When it was, in milliseconds since 1970; 0 likewise.
        runs: The published runs since, oldest first.
    """

    bootstrap: int = 0
    bootstrap_time: int = 0
    runs: Sequence[PublishedRun] = ()

    def find_end(self, router: int, sequence: int) -> RouterEnd | None:
        """Find the end of a router.

        Args:
            router: The number that it had at `sequence`.

        Returns:
            None if it has the number still, or again.
        """
        if sequence < self.bootstrap:
            return RouterEnd(self.bootstrap)
        return _find_end(
            router, drop_undone_runs(one for one in self.runs if one.sequence > sequence)
        )

    def find_undoing_run(self, run: int) -> int | None:
        """Return the run that undid a run; None if none did."""
        return find_undoing_runs(self.runs).get(run)

    def list_current_routers(self, report: EvolutionRun) -> list[int]:
        """List numbers in a run's changes that stand for the same routers.

        A number that the run gave to a new router stands for that one. If the run was not
        published, only numbers of before count.

        Returns:
            The numbers, ascending.
        """
        before = {number for change in report.changes for number in change.before}
        after = {number for change in report.changes for number in change.after} - before
        if not report.run:
            return sorted(before)
        if report.published and report.sequence <= self.bootstrap:
            return []
        if not report.published and report.time < self.bootstrap_time:
            return []
        since = drop_undone_runs(one for one in self.runs if one.run >= report.run)
        later = drop_undone_runs(one for one in self.runs if one.run > report.run)
        new = {number for number in after if not _find_end(number, later)}
        return sorted(
            {number for number in before if not _find_end(number, since)}
            | (new if report.published else set())
        )


def _find_end(router: int, runs: Iterable[PublishedRun]) -> RouterEnd | None:
    """Find the run that gave up a router's number of before `runs`.

    Args:
        runs: Without those that were undone, oldest first.
    """
    for one in runs:
        if router in one.merged:
            return RouterEnd(one.sequence, one.run, one.merged[router])
    return None
