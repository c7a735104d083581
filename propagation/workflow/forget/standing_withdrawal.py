"""Standing withdrawal: takes withdrawn parts out of what routers stand for.

A router's weight of an attribute holds the parts of all its messages, the older ones decayed
(routing/integration.py). So what one message loses is subtracted from the weights of all later
ones, and from those of the routers that evolved from it.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from propagation.grouping import group_pairs
from propagation.model import AffectedMessage, EvolutionRun
from propagation.routing import STANDING_KEPT

LEAST_WEIGHT = 1e-4
"""Smaller weights after a withdrawal are rounding errors, and go."""


@dataclass(frozen=True)
class _CorrectedMessage:
    """A message's earlier weights, and what to subtract from them."""

    round: int
    version: int
    weights: Mapping[str, float]
    debts: Mapping[str, float]


class StandingWithdrawal:
    """Corrects the standing of affected messages.

    They come in the order of their rounds.
    """

    def __init__(self, runs: Sequence[EvolutionRun]) -> None:
        """Learn from which routers evolutions made others.

        Args:
            runs: All runs; those that were not published changed nothing.
        """
        rounds = {run.run: run.round for run in runs}
        # An undone router says what it said before the undone run, so it inherits from there.
        self._origins = {
            (after, run.round): [(after, rounds[run.undoes])]
            if run.undoes in rounds
            else [(before, run.round) for before in change.before]
            for run in runs
            if run.published
            for change in run.changes
            for after in change.after
        }
        self._corrected: dict[int, list[_CorrectedMessage]] = defaultdict(list)

    def correct(
        self, affected: AffectedMessage, lost: frozenset[str]
    ) -> tuple[tuple[str, float], ...]:
        """Return what a message's router stands for without the parts that go.

        Args:
            lost: Attributes of which the message may bring nothing any more.
        """
        message = affected.message
        weights = dict(message.standing)
        origins = self._origins.get((message.router, message.round))
        debts = (
            self._find_debts_of_arrivals(affected, weights, lost)
            if origins is None
            else self._find_debts_of_origins(origins, weights, lost)
        )
        debts = {
            name: min(debt, weights[name]) for name, debt in debts.items() if weights.get(name)
        }
        self._corrected[message.router].append(
            _CorrectedMessage(message.round, message.version, weights, debts)
        )
        remaining = {name: weight - debts.get(name, 0.0) for name, weight in weights.items()}
        return tuple(
            (name, round(remaining[name], 6) if name in debts else weight)
            for name, weight in message.standing
            if name not in debts or remaining[name] > LEAST_WEIGHT
        )

    def _find_debts_of_arrivals(
        self, affected: AffectedMessage, weights: Mapping[str, float], lost: frozenset[str]
    ) -> dict[str, float]:
        """Return what goes with this message's parts and the previous one's."""
        message = affected.message
        before = self._find_before(message.router, message.round)
        if before is None or before.version != message.version - 1:
            before = _CorrectedMessage(0, 0, {}, {})
        debts = {name: debt * STANDING_KEPT for name, debt in before.debts.items()}
        for part in affected.lost_parts:
            debts[part.attribute] = debts.get(part.attribute, 0.0) + 1
        for name in lost:
            brought = weights.get(name, 0.0) - before.weights.get(name, 0.0) * STANDING_KEPT
            debts[name] = before.debts.get(name, 0.0) * STANDING_KEPT + max(brought, 0.0)
        return debts

    def _find_debts_of_origins(
        self,
        origins: Sequence[tuple[int, int]],
        weights: Mapping[str, float],
        lost: frozenset[str],
    ) -> dict[str, float]:
        """Return what goes from an evolved router's weights.

        Of a weight that its origins have, it is the same share as of theirs; what they do not
        have, it took from its readers' choices.
        """
        found = (self._find_before(router, round_) for router, round_ in origins)
        messages = [one for one in found if one is not None]
        debts = {}
        for name, weight in weights.items():
            total = sum(one.weights.get(name, 0.0) for one in messages)
            owed = sum(one.debts.get(name, 0.0) for one in messages)
            if total > 0:
                debts[name] = weight * owed / total
            elif name in lost:
                debts[name] = weight
        return {name: debt for name, debt in debts.items() if debt > 0}

    def _find_before(self, router: int, before: int) -> _CorrectedMessage | None:
        """Return a router's newest corrected message before a round."""
        return next((one for one in reversed(self._corrected[router]) if one.round < before), None)


def list_origins(runs: Sequence[EvolutionRun]) -> dict[int, frozenset[int]]:
    """List, by router, those from which evolutions made it.

    Args:
        runs: All runs, as for StandingWithdrawal.
    """
    pairs = group_pairs(
        (after, before)
        for run in runs
        if run.published
        for change in run.changes
        for after in change.after
        for before in change.before
    )
    return {after: frozenset(before) for after, before in pairs.items()}
