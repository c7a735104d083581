"""Candidates of a file: every protocol that draws takes its items from there."""

import numpy as np
import pytest

from propagation.laboratory.agentcf.studies.spread import Spread
from propagation.laboratory.methods import Random
from propagation.laboratory.protocols.drawn_negatives import DrawnNegatives
from propagation.laboratory.protocols.fixed_candidates import draw_among, draws, find_rows
from propagation.laboratory.protocols.leave_one_out import LeaveOneOut
from propagation.laboratory.protocols.one_of_twenty import OneOfTwenty
from propagation.laboratory.protocols.ranking_bias import RankingBias
from propagation.model import InvalidInput
from tests.unit.laboratory.titled_data import build_titled_dataset

DATASET = build_titled_dataset(users=20, items=60, each=6)
NAMED = {client.key.id: [f"i{n}" for n in range(7, 60)] for client in DATASET.users}


class Asking(Random):
    """Notes the candidates; it says that it asks a model, so that all protocols draw."""

    def __init__(self):
        self.seen = []

    async def score(self, history, questions, seed):
        self.seen.append(questions.candidates)
        return await super().score(history, questions, seed)

    def estimate(self, history, questions):
        return []


def fix(protocol, named):
    fixed, _ = find_rows(DATASET, named)
    return draw_among(protocol, fixed)


@pytest.mark.parametrize(
    "protocol", [DrawnNegatives(), LeaveOneOut(), OneOfTwenty(), RankingBias()]
)
async def test_only_the_files_items_stand_beside_the_target(protocol):
    assert draws(protocol)
    taking, method, free = fix(protocol, NAMED), Asking(), Asking()
    history, targets = taking.split(DATASET)
    await taking.run(method, history, targets, 1)
    await protocol.run(free, history, targets, 1)
    ids = [item.key.id for item in DATASET.items]
    low = {row for row, name in enumerate(ids) if int(name[1:]) < 7}

    def count_low(shown):
        rows = np.concatenate(shown)
        users = np.tile(targets.item, len(rows) // len(targets.item))
        return sum(
            len((set(row) - {target}) & low)
            for row, target in zip(rows.tolist(), users.tolist(), strict=True)
        )

    assert count_low(method.seen) == 0
    assert count_low(free.seen) > 0, "without the file they are drawn from all items"


async def test_nine_candidates_are_those_of_the_file_whatever_the_seed():
    history, targets = DrawnNegatives().split(DATASET)
    had = history.list_items_by_user()
    named, ids = {}, [item.key.id for item in DATASET.items]
    for user, target in zip(targets.user.tolist(), targets.item.tolist(), strict=True):
        free = np.setdiff1d(np.arange(60), [*had[user], target])
        named[DATASET.users[user].key.id] = [ids[row] for row in free[5:14].tolist()]
    taking = fix(DrawnNegatives(), named)
    for seed in (1, 2):
        method = Asking()
        await taking.run(method, history, targets, seed)
        for user, target, row in zip(targets.user, targets.item, method.seen[0], strict=True):
            shown = {ids[one] for one in row.tolist()} - {ids[target]}
            assert shown == {*named[DATASET.users[user].key.id]}


async def test_an_expectation_is_over_the_files_items():
    class Low(Random):
        """Items below 7 are best, so that without them the target rises."""

        async def score(self, history, questions, seed):
            low = [int(item.key.id[1:]) < 7 for item in DATASET.items]
            return np.array(low, np.float64)[questions.candidates]

    history, targets = LeaveOneOut().split(DATASET)
    free = await LeaveOneOut().run(Low(), history, targets, 1)
    taking = await fix(LeaveOneOut(), NAMED).run(Low(), history, targets, 1)
    low = np.array([int(DATASET.items[row].key.id[1:]) < 7 for row in targets.item])
    assert low.any()
    assert taking["n1"][low] == pytest.approx(1.0)
    assert taking["n1"][~low] == pytest.approx(0.1), "all are equal"
    assert (free["n1"][~low] < 0.1).all()


def test_what_the_file_lacks_is_counted_or_refused():
    fixed, missing = find_rows(DATASET, {"u1": ["i3", "nowhere"], "nobody": ["i4"]})
    assert missing == 1
    known = {DATASET.users[row].key.id: rows.tolist() for row, rows in fixed.items() if len(rows)}
    assert known == {"u1": [[item.key.id for item in DATASET.items].index("i3")]}
    with pytest.raises(InvalidInput, match="needs at least 10"):
        fix(DrawnNegatives(), {"u1": ["i3"]}).split(DATASET)
    assert not draws(Spread())
