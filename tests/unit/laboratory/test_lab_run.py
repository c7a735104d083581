"""Runs of the laboratory: planted truths, resuming, and what other runs leave alone."""

from dataclasses import replace

import numpy as np
import pytest

from propagation.laboratory.experiments import (
    RunPlan,
    compare,
    open_run,
    read_parts,
    read_plan,
    run_methods,
)
from propagation.laboratory.history import split_last
from propagation.laboratory.methods import MethodFailed, Random
from propagation.laboratory.protocols.leave_one_out import LeaveOneOut
from propagation.model import InvalidInput, PropagationError
from tests.unit.laboratory.lab_data import EACH, USERS, Knowing, build_dataset

MEASURES = ("n1", "n5", "n10")
PLAN = RunPlan("recnet/table2", "two halves", USERS, 30, USERS * EACH, ["random"], [1, 2])


async def run(folder, dataset, methods, seeds):
    plan = replace(PLAN, methods=[method.name for method in methods], seeds=list(seeds))
    open_run(folder, plan)
    seen = []
    await run_methods(
        folder, dataset, LeaveOneOut(), methods, seeds, lambda *report: seen.append(report)
    )
    return read_parts(folder, read_plan(folder)), seen


def test_the_last_event_of_each_user_is_the_target():
    dataset = build_dataset()
    history, targets = split_last(dataset)
    assert len(targets.user) == USERS == len(set(targets.user.tolist()))
    assert len(history.user) == USERS * (EACH - 1)
    for user, time in zip(targets.user, targets.time, strict=True):
        assert (history.time[history.user == user] < time).all()
    ids = [event.event_id for event in dataset.events]
    assert len({ids[place] for place in history.event}) == len(history.user)


async def test_a_method_that_knows_the_truth_with_probability_q_gains_what_follows_from_q(tmp_path):
    dataset = build_dataset()
    _, targets = split_last(dataset)
    methods = [Knowing(targets, 0.6), Knowing(targets, 0.0, "ignorant")]
    parts, _ = await run(tmp_path / "run", dataset, methods, range(1, 31))
    knowing, ignorant = compare(parts, MEASURES, "ignorant")
    error = np.sqrt(0.6 * 0.4 / (30 * USERS))
    assert knowing.means["n1"] == pytest.approx(0.6 + 0.4 * 0.1, abs=3 * error)
    assert ignorant.means["n1"] == pytest.approx(0.1, abs=3 * np.sqrt(0.09 / (30 * USERS)))
    assert knowing.against.mean > 3 * knowing.against.standard_error
    assert ignorant.against is None


async def test_a_stopped_run_goes_on_and_repeats_nothing(tmp_path):
    class Failing(Random):
        name = "failing"
        calls = 0

        async def score(self, history, questions, seed):
            Failing.calls += 1
            if Failing.calls == 2:
                raise MethodFailed("failing: no luck")
            return await super().score(history, questions, seed)

    with pytest.raises(MethodFailed):
        await run(tmp_path / "run", build_dataset(), [Failing()], [1, 2, 3])
    parts, seen = await run(tmp_path / "run", build_dataset(), [Failing()], [1, 2, 3])
    assert [part.seed for part in parts] == [1, 2, 3]
    assert Failing.calls == 4, "the first seed was done, the second was tried again"
    assert seen[-1] == ("", 3, 3)


def test_a_folder_of_another_run_or_of_other_files_is_left_alone(tmp_path):
    open_run(tmp_path / "run", PLAN)
    open_run(tmp_path / "run", PLAN)
    with pytest.raises(PropagationError, match="another experiment, data, methods, seeds"):
        open_run(tmp_path / "run", replace(PLAN, seeds=[1]))
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    with pytest.raises(PropagationError, match="holds no run"):
        open_run(tmp_path / "mine", PLAN)
    with pytest.raises(PropagationError, match=r"`propagation lab run` makes one"):
        read_plan(tmp_path / "mine")


async def test_a_damaged_file_of_results_is_named(tmp_path):
    await run(tmp_path / "run", build_dataset(), [Random()], [1])
    (tmp_path / "run" / "random-1.npz").write_bytes(b"half")
    with pytest.raises(PropagationError, match=r"random-1\.npz cannot be read .* delete it"):
        read_parts(tmp_path / "run", read_plan(tmp_path / "run"))


async def test_too_few_users_are_refused(tmp_path):
    with pytest.raises(InvalidInput, match="with two events or more"):
        await run(tmp_path / "run", build_dataset().first(10), [Random()], [1])
