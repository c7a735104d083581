"""Withdrawal from standings: subtracts withdrawn parts from the routers' weights.

A router's weight of an attribute sums the parts of all its messages, the older ones decayed
(routing/integration.py). So the parts that one message loses are subtracted from the weights of all
later messages, and from those of the routers that evolved from it.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from propagation.model import AffectedMessage, EvolutionRun, group_pairs
from propagation.routing import STANDING_KEPT

LEAST_WEIGHT = 1e-4
"""Weights below this after a withdrawal are rounding errors, and are dropped."""


@dataclass(frozen=True)
class _CorrectedMessage:
    """A message's earlier weights, and what to subtract from them."""

    round: int
    version: int
    weights: Mapping[str, float]
    debts: Mapping[str, float]


class StandingWithdrawal:
    """Corrects the standing of affected messages.

    The caller passes the messages in the order of their rounds.
    """

    def __init__(self, runs: Sequence[EvolutionRun]) -> None:
        """Note from which routers the evolutions made others.

        Args:
            runs: All runs; those that were not published changed nothing.
        """
        rounds = {run.run: run.round for run in runs}
        # An undo restores a router's text from before the undone run, so it inherits from there.
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

    @property
    def origins(self) -> dict[int, frozenset[int]]:
        """For each router, the routers whose weights it inherited."""
        pairs = group_pairs(
            (router, origin) for (router, _), found in self._origins.items() for origin, _ in found
        )
        return {router: frozenset(found) for router, found in pairs.items()}

    def correct(
        self,
        affected: AffectedMessage,
        lost: frozenset[str],
        doubtful: frozenset[str] = frozenset(),
    ) -> tuple[tuple[str, float], ...]:
        """Return a message's standing without the withdrawn parts.

        Args:
            lost: Attributes of which the message may bring nothing any more.
            doubtful: Attributes whose earlier weight may rest on withdrawn parts of messages that
                are not stored any more; only what this message itself may bring of them stays.
        """
        message = affected.message
        weights = dict(message.standing)
        origins = self._origins.get((message.router, message.round))
        debts = (
            self._find_debts_of_arrivals(affected, weights, lost)
            if origins is None
            else self._find_debts_of_origins(origins, weights, lost)
        )
        for name in doubtful & weights.keys():
            brought = 0 if name in lost else len(affected.remaining.get(name, ()))
            debts[name] = max(weights[name] - brought, 0.0)
        debts = {
            name: min(debt, weights[name]) for name, debt in debts.items() if weights.get(name)
        }
        self._corrected[message.router].append(
            _CorrectedMessage(message.round, message.version, weights, debts)
        )
        if not debts:
            return message.standing
        return tuple(
            (name, round(weight - debts[name], 6) if name in debts else weight)
            for name, weight in message.standing
            if name not in debts or weight - debts[name] > LEAST_WEIGHT
        )

    def _find_debts_of_arrivals(
        self, affected: AffectedMessage, weights: Mapping[str, float], lost: frozenset[str]
    ) -> dict[str, float]:
        """Return what to subtract from the weights of an integrated message.

        It is the decayed debt of the router's previous message, and what this message's lost parts
        brought.
        """
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
        """Return what to subtract from the weights of an evolved router.

        A weight that its origins have loses the same share as theirs. An attribute that they do
        not have came from its readers' choices; it goes whole if it is in `lost`.
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
