"""Prequential: each event is predicted at its moment, then learned.

A target is ranked by what is known just before it. A user has as many targets as events there, so
standard errors take users as clusters.

Source:
    This project: docs/numbers.md, "Protocol". `propagation evaluate` runs it on the numbers.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass

import numpy as np

from propagation.arrays import F64, I64
from propagation.datasets.dataset import Dataset
from propagation.laboratory.history import History, Questions, Targets
from propagation.laboratory.methods import Method, is_live
from propagation.laboratory.methods.asking import AskingMethod, Calls, asks_model
from propagation.laboratory.prequential.refitting import Refitted
from propagation.laboratory.protocols.candidates import DrawnCandidates, draw_others, list_unseen
from propagation.laboratory.protocols.expected_gain import (
    CUTS,
    MANY,
    find_invalid,
    rate_against_pool,
    rate_rankings,
)
from propagation.laboratory.protocols.last_events import LEAST_TARGETS
from propagation.model import InvalidInput, pluralize

RATED = (*(f"n{cut}" for cut in CUTS), "n10_of_100")
FIRST, REFITS = 0.4, 10
"""As in `propagation evaluate`, the first two fifths of the events are only learned."""


@dataclass(frozen=True)
class Prequential:
    """Ranks each event's item among items that its user lacks.

    Targets are events of users with an earlier event. An event that repeats an item of its user is
    learned, and is no target. Items that the user takes later are ranked against, as nothing of
    the future is known.

    Attributes:
        first: The share of the events that come before the first target, 0 to 1.
        refits: How often methods are fitted that cannot learn event by event.
        negatives: How many items each target is ranked against.
    """

    first: float = FIRST
    refits: int = REFITS
    negatives: int = 9

    @property
    def measures(self) -> Mapping[str, str]:
        """The header of each measure."""
        return {
            **{f"n{cut}": f"N@{cut}" for cut in CUTS},
            "n10_of_100": "N@10 of 100",
            "invalid": "invalid",
            "behind": "events behind",
        }

    @property
    def share(self) -> str:
        """`first` as a percentage, exactly: runs with other shares are other runs."""
        # All 15 digits that a float holds for sure: with 17, 0.29 would be 28.999999999999996.
        return f"{self.first * 100:.15g}%"

    @property
    def description(self) -> str:
        """What is ranked, in a sentence."""
        return (
            f"Each event after the first {self.share} is ranked at its moment against"
            f" {self.negatives} items, and against {MANY}, that its user has not had yet, in"
            " expectation over all draws; then it is learned. Methods that learn event by event"
            f" answer live; others are fitted {self.refits} times, at equal distances, and"
            " `events behind` is how many events a method does not know yet, on average. A method"
            f" that asks a language model ranks one draw of {self.negatives} items for each seed."
            " First events of users and repeats are only learned. Standard errors are by user, as"
            " targets of one user are not independent."
        )

    def split(self, dataset: Dataset) -> tuple[History, Targets]:
        """Return the whole history, and the targets in their order.

        Raises:
            InvalidInput: Too few users have a target.
        """
        history = History.of(dataset, np.arange(len(dataset)))
        possible = np.array(self._find_targets(history), np.int64)
        places = possible[possible >= self._find_start(history)]
        users = len(np.unique(history.user[places]))
        if users < LEAST_TARGETS:
            raise InvalidInput(
                "events",
                f"behind the first {self.share} (--after {self.first:.15g}), {dataset.name} has"
                f" {pluralize(len(places), 'target')} of {pluralize(users, 'user')}, and"
                f" ours/prequential needs targets of at least {LEAST_TARGETS}:"
                f" {self._advise(history, possible)}. Targets are events with another event of"
                f" their user before them, and {self.negatives} other items that the user did not"
                " have yet",
            )
        return history, Targets(
            history.user[places], history.item[places], history.time[places], known=places
        )

    async def run(
        self, method: Method, history: History, targets: Targets, seed: int
    ) -> dict[str, F64]:
        """Return each measure of each target, [T].

        They are N@1, N@5 and N@10, N@10 against MANY items (NaN with too few), whether an answer
        was unusable, and how many events the method did not know yet.
        """
        known = list_known(targets)
        out = {name: np.full(len(known), np.nan) for name in self.measures}
        refitted = self._refit(method, history)
        live = method if is_live(method) else refitted
        out["behind"] = (known - refitted.find_fits(known) if live is refitted else known * 0) * 1.0
        drawn = self._draw(history, targets, seed) if asks_model(method) else None
        candidates = (
            np.broadcast_to(np.arange(history.items), (len(known), history.items))
            if drawn is None
            else drawn.items
        )
        pools = list_pools(history, targets)
        questions = Questions(targets.user, targets.time, candidates)
        row = 0
        async with aclosing(live.follow(history, questions, known, seed)) as answers:
            async for scores in answers:
                pool = next(pools)
                if drawn is None:
                    target = int(targets.item[row])
                    found = rate_against_pool(scores, target, pool, self.negatives)
                    out["invalid"][row] = 0.0
                else:
                    found = [*rate_rankings(scores[None], drawn.place[row : row + 1])[0], np.nan]
                    out["invalid"][row] = find_invalid(scores[None])[0]
                for name, value in zip(RATED, found, strict=True):
                    out[name][row] = value
                row += 1
        return out

    def estimate(
        self, method: AskingMethod, history: History, targets: Targets, seed: int
    ) -> Sequence[Calls]:
        """Estimate the calls of `run`; each fit learns anew."""
        drawn = self._draw(history, targets, seed)
        questions = Questions(targets.user, targets.time, drawn.items)
        learns_once = is_live(method)
        if learns_once:
            return method.estimate(history, questions)
        return [
            calls
            for moment, part in self._refit(method, history).split(list_known(targets))
            for calls in method.estimate(
                history.select(slice(moment)), Questions(*(column[part] for column in questions))
            )
        ]

    def _refit(self, method: Method, history: History) -> Refitted:
        events = len(history.user)
        moments = np.linspace(self._find_start(history), events, self.refits + 1)[:-1]
        return Refitted(method, moments.astype(np.int64))

    def _find_start(self, history: History) -> int:
        """Return the place of the first event that may be a target."""
        return int(self.first * len(history.user))

    def _advise(self, history: History, possible: I64) -> str:
        """Say which share leaves enough users.

        Args:
            possible: Places of the events that can be targets, ascending.
        """
        users: set[int] = set()
        for place in possible[::-1].tolist():
            users.add(int(history.user[place]))
            if len(users) == LEAST_TARGETS:
                share = 100 * place // len(history.user) / 100
                return f"set --after to {share:g} or less"
        return (
            f"no --after leaves as many, as {pluralize(len(users), 'user')} can have one at all;"
            " give data with more of them, or a larger --first if you gave one"
        )

    def _find_targets(self, history: History) -> list[int]:
        """Return the places of all events that can be targets."""
        had: dict[int, set[int]] = {}
        places = []
        for place, (user, item) in enumerate(
            zip(history.user.tolist(), history.item.tolist(), strict=True)
        ):
            own = had.setdefault(user, set())
            others = history.items - len(own) - 1
            if own and item not in own and others >= self.negatives:
                places.append(place)
            own.add(item)
        return places

    def _draw(self, history: History, targets: Targets, seed: int) -> DrawnCandidates:
        """Draw candidates. They depend on the seed and on the event's place."""
        count = len(targets.user)
        items = np.empty((count, self.negatives + 1), np.int64)
        place = np.empty(count, np.int64)
        pools = list_pools(history, targets)
        for row, (event, pool) in enumerate(zip(list_known(targets).tolist(), pools, strict=True)):
            draw = np.random.default_rng([seed, event])
            others, place[row] = draw_others(draw, pool, self.negatives)
            items[row] = np.insert(others, place[row], targets.item[row])
        return DrawnCandidates(items, place)


def list_known(targets: Targets) -> I64:
    """Return how many interactions are known at each target, [T].

    Raises:
        ValueError: The targets are of another protocol.
    """
    if targets.known is None:
        raise ValueError("these targets have no moments")
    return targets.known


def list_pools(history: History, targets: Targets) -> Iterator[I64]:
    """Yield the items that each target is ranked against."""
    had: dict[int, list[int]] = {}
    for user, item, pairs in zip(
        targets.user.tolist(),
        targets.item.tolist(),
        history.walk_pairs(list_known(targets)),
        strict=True,
    ):
        for other, taken in pairs:
            had.setdefault(other, []).append(taken)
        yield list_unseen(history, np.array(had[user], np.int64), [item])
