"""Origins of messages and filter rules in routers before evolutions.

An evolution writes messages, moves filter rules to other numbers, and may give a number to another
router. A message or rule of then is understood by the runs since.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from propagation.model import EvolutionKind, EvolutionRun, FilterRule, RouterVersion
from propagation.ports import GraphStore

RUNS_A_READ = 50


@dataclass(frozen=True)
class EvolutionOrigin:
    """The evolution that wrote a message.

    Attributes:
        sequence: The sequence of the run's publication.
        kind: What the run did to the router; None if an undo gave it its earlier text back.
        before: The numbers, before the run, of the routers that the message's router came from.
        undoes: The run that this run undid; None for any other run.
    """

    run: int
    sequence: int
    kind: EvolutionKind | None
    before: tuple[int, ...]
    undoes: int | None


@dataclass(frozen=True)
class RuleOrigin:
    """The routers that a filter rule was written about.

    It was written when it was last confirmed.

    Attributes:
        routers: The numbers of the routers that became the rule's router; () if it is the same.
        replaced: A bootstrap has made new routers since.
    """

    routers: tuple[int, ...] = ()
    replaced: bool = False


async def find_evolution_origins(
    store: GraphStore, messages: Iterable[RouterVersion]
) -> Mapping[tuple[int, int], EvolutionOrigin]:
    """Find the evolutions that wrote messages.

    Returns:
        By (router, version); messages that a round wrote are left out.
    """
    by_sequence: dict[int, list[RouterVersion]] = {}
    for message in messages:
        by_sequence.setdefault(message.sequence, []).append(message)
    if not by_sequence:
        return {}
    runs = await _read_runs_after(store, min(by_sequence) - 1)
    return {
        (message.router, message.version): _describe_origin(run, message.router)
        for run in runs
        for message in by_sequence.get(run.sequence, ())
    }


def _describe_origin(run: EvolutionRun, router: int) -> EvolutionOrigin:
    change = next((change for change in run.changes if router in change.after), None)
    return EvolutionOrigin(
        run=run.run,
        sequence=run.sequence,
        kind=None if change is None else change.kind,
        before=(router,) if change is None else change.before,
        undoes=run.undoes,
    )


async def find_rule_origins(
    store: GraphStore, rules: Sequence[FilterRule], at: int | None = None
) -> list[RuleOrigin]:
    """Find which routers rules were about when they were last confirmed.

    Args:
        at: The sequence at which the rules are read; None means now.

    Returns:
        One origin for each rule, in order.
    """
    ages = [rule.age for rule in rules if rule.router is not None]
    if not ages:
        return [RuleOrigin() for _ in rules]
    opened = [epoch for epoch in await store.get_epochs() if at is None or epoch.sequence <= at]
    if not opened or opened[-1].sequence <= min(ages):
        return [RuleOrigin() for _ in rules]
    bootstrap = next((one.sequence for one in opened if one.number == opened[-1].era), 0)
    runs = [
        run
        for run in await _read_runs_after(store, max(min(ages), bootstrap))
        if at is None or run.sequence <= at
    ]
    return [
        RuleOrigin()
        if rule.router is None
        else RuleOrigin(replaced=True)
        if rule.age < bootstrap
        else RuleOrigin(_follow_back(rule.router, [run for run in runs if run.sequence > rule.age]))
        for rule in rules
    ]


def _follow_back(router: int, runs: Iterable[EvolutionRun]) -> tuple[int, ...]:
    """Return the routers that became a router.

    Rules follow a run and its undo one after the other, so runs that were undone count, too.

    Args:
        runs: The runs since, newest first.

    Returns:
        Their numbers, ascending; () if it is the router's own number alone.
    """
    found = {router}
    for run in runs:
        parents = {after: change.before for change in run.changes for after in change.after}
        found = {before for number in found for before in parents.get(number, (number,))}
    return () if found == {router} else tuple(sorted(found))


async def _read_runs_after(store: GraphStore, sequence: int) -> list[EvolutionRun]:
    """Read the runs that were published after a sequence, newest first."""
    found: list[EvolutionRun] = []
    before: int | None = None
    while True:
        runs = await store.get_evolution_runs(RUNS_A_READ, before)
        published = [run for run in runs if run.published]
        found += [run for run in published if run.sequence > sequence]
        if len(runs) < RUNS_A_READ or any(run.sequence <= sequence for run in published):
            return found
        before = runs[-1].run
