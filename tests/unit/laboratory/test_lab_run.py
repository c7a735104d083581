"""Runs of the laboratory: planted truths, resuming, and what other runs leave alone."""

import re

import numpy as np
import pytest

from propagation.laboratory.methods import MethodFailed, MethodNotInstalled, Popularity, Random
from propagation.laboratory.protocols.last_events import count_tied, split_last
from propagation.laboratory.protocols.leave_one_out import LeaveOneOut
from propagation.laboratory.runs import (
    compare,
    open_run,
    plan_run,
    read_known,
    read_parts,
    read_plan,
    run_methods,
)
from propagation.model import InvalidInput, PropagationError
from tests.unit.laboratory.lab_data import EACH, USERS, Knowing, build_dataset

MEASURES = ("n1", "n5", "n10")
PROTOCOL = LeaveOneOut()


async def run(folder, dataset, methods, seeds):
    seen = []
    with open_run(folder, plan_run("recnet/table2", dataset, PROTOCOL)):
        outcome = await run_methods(
            folder,
            dataset,
            PROTOCOL,
            methods,
            seeds,
            lambda ended, parts: seen.append((len(ended), parts)),
        )
    parts = len(methods) * len(seeds)
    assert seen == [(done, parts) for done in range(parts + 1)]
    return read_parts(folder, [method.name for method in methods]), outcome


class Counting(Random):
    """Counts its calls; some of them fail."""

    def __init__(self, name, failing=(), error=MethodFailed, version="1"):
        self.name, self.depends_on, self.calls = name, {"version": version}, 0
        self._failing, self._error = failing, error

    async def score(self, history, questions, seed):
        self.calls += 1
        if self.calls in self._failing:
            raise self._error(f"{self.name}: no luck")
        return await super().score(history, questions, seed)


def test_the_last_event_of_each_user_is_the_target():
    dataset = build_dataset()
    history, targets = split_last(dataset)
    assert len(targets.user) == USERS == len(set(targets.user.tolist()))
    assert len(history.user) == USERS * (EACH - 1)
    for user, time in zip(targets.user, targets.time, strict=True):
        assert (history.time[history.user == user] < time).all()
    ids = [event.event_id for event in dataset.events]
    assert len({ids[place] for place in history.event}) == len(history.user)
    assert count_tied(history, targets) == 0
    assert count_tied(history, targets._replace(time=targets.time + 1)) == 0
    same = history.__class__(**{**vars(history), "time": history.time * 0})
    assert count_tied(same, targets._replace(time=targets.time * 0)) == USERS


async def test_a_method_that_knows_the_truth_with_probability_q_gains_what_follows_from_q(tmp_path):
    dataset = build_dataset()
    _, targets = split_last(dataset)
    methods = [Knowing(targets, 0.6), Knowing(targets, 0.0, "ignorant"), Random()]
    parts, _ = await run(tmp_path / "run", dataset, methods, range(1, 31))
    knowing, ignorant, chance = compare(parts, MEASURES, "ignorant")
    error = np.sqrt(0.6 * 0.4 / (30 * USERS))
    assert knowing.means["n1"] == pytest.approx(0.6 + 0.4 * 0.1, abs=3 * error)
    assert ignorant.means["n1"] == pytest.approx(0.1, abs=3 * np.sqrt(0.09 / (30 * USERS)))
    assert chance.means["n1"] == pytest.approx(0.1), "chance has no noise"
    assert knowing.against.mean > 3 * knowing.against.standard_error
    assert ignorant.against is None


async def test_a_stopped_run_goes_on_and_repeats_nothing(tmp_path):
    method = Counting("unlucky", failing=[2])
    _, first = await run(tmp_path / "run", build_dataset(), [method], [1, 2, 3])
    assert first.failed == {"unlucky": "unlucky: no luck"}
    parts, second = await run(tmp_path / "run", build_dataset(), [method], [1, 2, 3])
    assert [part.seed for part in parts] == [1, 2, 3]
    assert method.calls == 4, "the first seed was done, the second was tried again"
    assert second == ({}, {}, [])


async def test_methods_and_seeds_can_be_added(tmp_path):
    first, later = Counting("first"), Counting("later")
    await run(tmp_path / "run", build_dataset(), [first], [1])
    parts, _ = await run(tmp_path / "run", build_dataset(), [later, first], [1, 2])
    assert [(part.method, part.seed) for part in parts] == [
        *[("later", 1), ("later", 2)],
        *[("first", 1), ("first", 2)],
    ]
    assert (first.calls, later.calls) == (2, 2)


async def test_a_method_that_changed_runs_again(tmp_path):
    await run(tmp_path / "run", build_dataset(), [Counting("mine")], [1])
    changed = Counting("mine", version="2")
    _, outcome = await run(tmp_path / "run", build_dataset(), [changed], [1])
    assert (changed.calls, outcome.repeated) == (1, ["mine"])


async def test_a_method_that_fails_or_is_missing_stops_no_other(tmp_path):
    methods = [
        Counting("bad", failing=[1]),
        Counting("absent", failing=[1], error=MethodNotInstalled),
        Popularity(),
    ]
    parts, outcome = await run(tmp_path / "run", build_dataset(), methods, [1, 2])
    assert [part.method for part in parts] == ["pop", "pop"]
    assert (list(outcome.failed), list(outcome.absent)) == (["bad"], ["absent"])
    assert [method.calls for method in methods[:2]] == [1, 1]


async def test_a_run_on_other_data_and_other_files_are_left_alone(tmp_path):
    await run(tmp_path / "run", build_dataset(), [Random()], [1])
    with pytest.raises(PropagationError, match="holds another run: it differs in digest"):
        await run(tmp_path / "run", build_dataset(seed=6), [Random()], [1])
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    with pytest.raises(PropagationError, match="is not empty and holds no run"):
        await run(tmp_path / "mine", build_dataset(), [Random()], [1])
    with pytest.raises(PropagationError, match=r"`propagation lab run` makes one"):
        read_plan(tmp_path / "mine")


async def test_one_process_at_a_time_runs_in_a_folder(tmp_path):
    plan = plan_run("recnet/table2", build_dataset(), PROTOCOL)
    with (
        open_run(tmp_path / "run", plan),
        pytest.raises(PropagationError, match="another process runs in"),
        open_run(tmp_path / "run", plan),
    ):
        pass


@pytest.mark.parametrize("kept", [0, 4, 500])
async def test_a_damaged_file_of_results_is_named(tmp_path, kept):
    await run(tmp_path / "run", build_dataset(), [Random()], [1])
    path = tmp_path / "run" / "random-1.npz"
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(PropagationError, match=r"random-1\.npz cannot be read .* delete it"):
        read_parts(tmp_path / "run")


def rewrite(path, **changes):
    """Write a file of results anew; a column that is None is left out."""
    columns = {**np.load(path), **changes}
    np.savez(path, **{name: value for name, value in columns.items() if value is not None})


@pytest.mark.parametrize(
    "changes",
    [
        {"n1": np.full(USERS, np.inf)},
        {"n1": np.full(USERS, "one")},
        {"n1": np.full(USERS, 1)},
        {"n1": np.zeros((USERS, 2))},
        {"user": np.full(USERS - 1, "u")},
        {"user": np.array("u"), "item": np.array("i")},
        {"user": np.full((USERS, 2), "u")},
        {"item": np.arange(USERS)},
        {"item": None},
        {"version": None},
        {"depends_on": np.array('["numpy"]')},
        {"depends_on": np.array('{"numpy": 2}')},
        {"depends_on": np.array("half")},
        {"measured": np.array('{"counts": 5}')},
        {"seconds": np.array(np.inf)},
        {"seconds": np.ones(2)},
        {"order": np.ones(2)},
        {"order": np.array("first")},
    ],
)
async def test_results_that_no_run_writes_are_named(tmp_path, changes):
    await run(tmp_path / "run", build_dataset(), [Random()], [1])
    rewrite(tmp_path / "run" / "random-1.npz", **changes)
    named = r"random-1\.npz cannot be read \([^\n]+\); delete it, and the next run makes it again$"
    with pytest.raises(PropagationError, match=named):
        read_parts(tmp_path / "run")


@pytest.mark.parametrize(
    "changes",
    [
        {"history": np.array(5)},
        {"history": np.full(USERS, 5.0)},
        {"adopters": np.ones((USERS, 1), np.int64)},
        {"adopters": np.ones(USERS + 1, np.int64)},
    ],
)
async def test_damaged_numbers_of_what_is_known_are_named(tmp_path, changes):
    await run(tmp_path / "run", build_dataset(), [Random()], [1])
    rewrite(tmp_path / "run" / "targets.npz", **changes)
    with pytest.raises(PropagationError, match=r"targets\.npz cannot be read \(.*delete it"):
        read_known(tmp_path / "run")


async def test_results_that_lack_a_measure_are_made_again(tmp_path):
    method = Counting("mine")
    await run(tmp_path / "run", build_dataset(), [method], [1])
    path = tmp_path / "run" / "mine-1.npz"
    rewrite(path, n10=None)
    with pytest.raises(PropagationError, match=f"{re.escape(str(path))} cannot be used; delete it"):
        compare(read_parts(tmp_path / "run"), MEASURES, "mine")
    parts, outcome = await run(tmp_path / "run", build_dataset(), [method], [1])
    assert (method.calls, outcome.repeated) == (2, ["mine"])
    assert "n10" in parts[0].values


@pytest.mark.parametrize("text", ["{}", "[]", "5", '{"experiment": 5}', "half"])
async def test_a_damaged_plan_is_named(tmp_path, text):
    (tmp_path / "run.json").write_text(text)
    with pytest.raises(PropagationError, match=r"holds no run of the laboratory \(run\.json"):
        read_plan(tmp_path)


async def test_parts_with_other_targets_are_not_compared(tmp_path):
    parts, _ = await run(tmp_path / "run", build_dataset(), [Random(), Popularity()], [1])
    moved = parts[1]._replace(target=parts[1].target[::-1])
    with pytest.raises(PropagationError, match="of pop, seed 1, have other targets"):
        compare([parts[0], moved], MEASURES, "recnet")


async def test_a_user_with_too_few_unseen_items_is_left_out(tmp_path):
    parts, _ = await run(tmp_path / "run", build_dataset(), [Random()], [1])
    (row,) = compare(parts, ("n10", "n10_of_100"), "recnet")
    assert row.means["n10_of_100"] is None, "there are 30 items"
    assert row.targets == 0
    assert row.means["n10"] == pytest.approx(sum(1 / np.log2(np.arange(2, 12))) / 10)


async def test_too_few_users_are_refused(tmp_path):
    with pytest.raises(InvalidInput, match="with two events or more"):
        await run(tmp_path / "run", build_dataset().first(10), [Random()], [1])


def test_too_few_items_are_refused():
    """Each user has 6 of 30 items, so 24 are left to draw from."""
    assert len(LeaveOneOut(negatives=24).split(build_dataset())[1].user) == USERS
    with pytest.raises(InvalidInput, match="0 users with two events or more and 25 items that the"):
        LeaveOneOut(negatives=25).split(build_dataset())
