"""User simulation: yes or no to taken and to other items.

Each user has twenty items, of which 1 in 1+k is one that the user took and that is held out.

Source:
    AFL 4.1.2, after Agent4Rec.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from propagation.arrays import F64, I64, Bools
from propagation.datasets.dataset import Dataset
from propagation.evaluation.protocols.passes import find_last
from propagation.laboratory.history import History, Questions, Targets
from propagation.laboratory.methods import Method, MethodFailed
from propagation.laboratory.methods.afl.ports import DecidingMethod
from propagation.laboratory.methods.asking import AskingMethod, Calls, asks_model
from propagation.laboratory.methods.wrappers.item_scores import ItemScorer
from propagation.laboratory.protocols.candidates import list_unseen
from propagation.laboratory.protocols.last_events import check_enough, sample_once

SHOWN, RATIOS = 20, (1, 3, 9)
TARGETS = 200
Decide = Callable[[I64, Questions], Awaitable[F64]]
"""Decides about the candidates of questions, which are those of the targets in these rows."""
FIGURES = {"precision": "P", "recall": "R", "f1": "F1"}


@dataclass(frozen=True)
class UserSimulation:
    """Compares yes and no with what users took.

    Attributes:
        targets: The most users; of more, so many are drawn once.
        ratios: How many items that the user never had come to each that the user took (k).
    """

    targets: int = TARGETS
    ratios: Sequence[int] = RATIOS

    @property
    def measures(self) -> Mapping[str, str]:
        """The header of each measure."""
        return {
            "invalid": "invalid",
            **{
                f"{name}_{ratio}": f"1:{ratio} {header}"
                for ratio in self.ratios
                for name, header in FIGURES.items()
            },
        }

    @property
    def description(self) -> str:
        """What is asked, in a sentence."""
        return (
            f"Each user sees {SHOWN} items: held-out ones that the user took, and k times as many"
            " that the user never had (1:k), drawn by the seed. Precision, recall and F1 of the"
            f" yes-decisions are over all users' decisions together; at most {self.targets} users,"
            " drawn once. A user with too few events has no part where k is small. An invalid"
            " answer counts as no. Methods without decisions say yes to items that score above a"
            " share of the items that the user never had; it is chosen on each user's last known"
            " event."
        )

    def split(self, dataset: Dataset) -> tuple[History, Targets]:
        """Hold out each user's last items.

        These are 10, 5 or 2, for 1:1, 1:3 and 1:9. As many are held out as leave no fewer known.
        Repeats of held-out items are held out, too. A target's item is the last one.

        Raises:
            InvalidInput: There are too few users with twice as many different items.
        """
        user, item, time = dataset.rows()
        users, items = len(dataset.users), len(dataset.items)
        by_user = np.split(
            np.argsort(user, kind="stable"), np.searchsorted(np.sort(user), np.arange(1, users))
        )
        eligible = [
            number
            for number, rows in enumerate(by_user)
            if self._choose_depth(len(np.unique(item[rows])))
            and items - len(np.unique(item[rows])) >= SHOWN
        ]
        least = 2 * min(SHOWN // (1 + ratio) for ratio in self.ratios)
        who = f"with at least {least} different items and {SHOWN} that they never had"
        check_enough(dataset, len(eligible), who, "this")
        eligible = sample_once(np.array(eligible, np.int64), self.targets).tolist()
        known = np.ones(len(user), np.bool_)
        held_out: list[I64] = []
        last: list[int] = []
        for number in eligible:
            rows = by_user[number]
            newest = item[rows][::-1]
            _, first_places = np.unique(newest, return_index=True)
            distinct = newest[np.sort(first_places)]
            held = distinct[: self._choose_depth(len(distinct))]
            known[rows[np.isin(item[rows], held)]] = False
            held_out.append(held)
            last.append(int(rows[-1]))
        return (
            History.of(dataset, np.flatnonzero(known)),
            Targets(user[last], item[last], time[last], held_out),
        )

    async def run(
        self, method: Method, history: History, targets: Targets, seed: int
    ) -> dict[str, F64]:
        """Return each measure of each target, [T].

        A measure of a user is a share of the whole figure: the mean over users is the precision (or
        recall, or F1) of all decisions together, and differences can be paired by user. The counts
        are there, too, as `right_1`, `yes_1` and `took_1`.

        Raises:
            MethodFailed: The method asks a model and makes no decisions.
        """
        count = len(targets.user)
        out = {"invalid": np.zeros(count)}
        asked = np.zeros(count)
        decide = await _prepare(method, history, targets, seed)
        for ratio in self.ratios:
            rows, questions, took = draw_shown(history, targets, ratio, seed)
            decisions = await decide(rows, questions) if len(rows) else np.zeros(took.shape)
            out["invalid"][rows] += np.isnan(decisions).sum(axis=1)
            asked[rows] += SHOWN
            out |= _rate(decisions == 1, took, rows, count, ratio)
        out["invalid"] /= np.maximum(asked, 1)
        return out

    def estimate(
        self, method: AskingMethod, history: History, targets: Targets, seed: int
    ) -> Sequence[Calls]:
        """Estimate the calls of `run`."""
        out: list[Calls] = []
        if isinstance(method, DecidingMethod):
            for ratio in self.ratios:
                _, questions, _ = draw_shown(history, targets, ratio, seed)
                out += method.estimate_decisions(history, questions)
        return out

    def _choose_depth(self, distinct: int) -> int:
        """Return how many items of a user are held out.

        Args:
            distinct: How many different items the user has; of too few none is held out.
        """
        depths = [SHOWN // (1 + ratio) for ratio in self.ratios]
        return next((depth for depth in depths if 2 * depth <= distinct), 0)


def draw_shown(
    history: History, targets: Targets, ratio: int, seed: int
) -> tuple[I64, Questions, Bools]:
    """Draw the items that users see.

    Returns:
        The rows of the targets that have enough held-out items [U]; their questions, with SHOWN
        candidates in random order; and which of these the user took [U,SHOWN].
    """
    positives = SHOWN // (1 + ratio)
    had = history.list_items_by_user()
    rows = np.array(
        [row for row, held in enumerate(targets.held_out) if len(held) >= positives], np.int64
    )
    items = np.empty((len(rows), SHOWN), np.int64)
    took = np.zeros((len(rows), SHOWN), np.bool_)
    for place, row in enumerate(rows.tolist()):
        user, held = int(targets.user[row]), targets.held_out[row]
        draw = np.random.default_rng([seed, user, ratio])
        right = draw.choice(held, positives, replace=False)
        wrong = draw.choice(list_unseen(history, had[user], held), SHOWN - positives, replace=False)
        order = draw.permutation(SHOWN)
        items[place] = np.concatenate([right, wrong])[order]
        took[place] = (np.arange(SHOWN) < positives)[order]
    return rows, Questions(targets.user[rows], targets.time[rows], items), took


async def _prepare(method: Method, history: History, targets: Targets, seed: int) -> Decide:
    """Return how a method decides: 1, 0, or NaN where invalid.

    A method with scores learns once, for all ratios.
    """
    if isinstance(method, DecidingMethod):
        deciding: DecidingMethod = method
        return lambda _, questions: deciding.decide(history, questions, seed)
    if asks_model(method):
        raise MethodFailed(
            f"{method.name}: it recommends and makes no decisions; name afl(...), user(...) or a"
            " method with scores"
        )
    scorer = ItemScorer(method)
    threshold = await choose_threshold(scorer, history, seed)
    found = await scorer.score(history, targets.user, targets.time, seed)

    async def decide(rows: I64, questions: Questions) -> F64:
        shares = found.shares[rows[:, None], questions.candidates]
        return (shares >= threshold).astype(np.float64)

    return decide


async def choose_threshold(scorer: ItemScorer, history: History, seed: int) -> float:
    """Choose the share above which a method says yes.

    It is the share of unseen items with lower scores.

    The last event of each user in the history is hidden, and the method learns the rest. Of all
    items that the user never had, a share 1-t is above the threshold t. The one is chosen for which
    most hidden items are above it, less this share: as a model of likes against uniform negatives
    at 1:1 decides at 0.5. So it does not depend on k, and no target is used.
    """
    order = np.argsort(history.event)
    user = history.user[order]
    hidden = order[find_last(user, history.users)]
    known = np.ones(len(user), np.bool_)
    known[hidden] = False
    found = await scorer.score(
        history.select(known), history.user[hidden], history.time[hidden], seed
    )
    shares = np.sort(found.shares[np.arange(len(hidden)), history.item[hidden]])
    above = 1 - np.arange(len(shares)) / len(shares)
    return float(shares[np.argmax(above - (1 - shares))]) if len(shares) else 0.5


def _rate(yes: Bools, took: Bools, rows: I64, targets: int, ratio: int) -> dict[str, F64]:
    """Return each target's counts, and its shares of the figures.

    They are NaN for a target without a part in the ratio.
    """
    counts = {
        "right": (yes & took).sum(axis=1),
        "yes": yes.sum(axis=1),
        "took": took.sum(axis=1),
    }
    counts["both"] = counts["yes"] + counts["took"]
    counts["twice"] = 2 * counts["right"]
    figures = {
        "precision": share_ratio(counts["right"], counts["yes"]),
        "recall": share_ratio(counts["right"], counts["took"]),
        "f1": share_ratio(counts["twice"], counts["both"]),
        **{name: counts[name].astype(np.float64) for name in ("right", "yes", "took")},
    }
    out = {}
    for name, values in figures.items():
        column = np.full(targets, np.nan)
        column[rows] = values
        out[f"{name}_{ratio}"] = column
    return out


def share_ratio(above: I64, below: I64) -> F64:
    """Share a ratio of sums among users.

    The mean of the shares is the ratio.
    Each user's share is the ratio plus the user's influence on it, so differences of shares have
    the standard error of a ratio of sums (the delta method).

    Returns:
        [U]; NaN if the divisors sum to 0.
    """
    if not below.sum():
        return np.full(len(above), np.nan)
    ratio = above.sum() / below.sum()
    shares: F64 = ratio + (above - ratio * below) / below.mean()
    return shares
