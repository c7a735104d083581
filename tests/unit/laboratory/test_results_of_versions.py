"""Results of several versions in one folder: what is newer, and what is said of the rest."""

import os
import shutil

import numpy as np
import pytest

from propagation.laboratory.methods import Random, dependencies
from propagation.laboratory.protocols.leave_one_out import LeaveOneOut
from propagation.laboratory.runs import (
    list_older,
    list_remarks,
    open_run,
    plan_run,
    read_parts,
    run_methods,
)
from propagation.model import PropagationError
from tests.unit.laboratory.lab_data import build_dataset

DATASET, PROTOCOL = build_dataset(), LeaveOneOut()


class Versioned(Random):
    """Chance, in one of several versions."""

    def __init__(self, version, name="mine"):
        self.name, self.depends_on = name, {"recipe": version}


async def run(folder, version, seeds, name="mine"):
    with open_run(folder, plan_run("recnet/table2", DATASET, PROTOCOL)):
        await run_methods(
            folder, DATASET, PROTOCOL, [Versioned(version, name)], seeds, lambda *_: None
        )


def copy(folder, to, first):
    """Copy a folder, so that the files that match `first` look the oldest."""
    shutil.copytree(folder, to)
    for path in to.iterdir():
        second = 1_000 if path.match(first) else 2_000
        os.utime(path, (second, second))
    return to


@pytest.mark.parametrize("first", ["mine-1.npz", "mine-2.npz", "*"])
async def test_a_copy_of_a_folder_has_the_same_results_whatever_its_times(tmp_path, first):
    await run(tmp_path / "run", "old", [1, 2])
    await run(tmp_path / "run", "new", [1])
    for folder in (tmp_path / "run", copy(tmp_path / "run", tmp_path / "copy", first)):
        [part] = read_parts(folder)
        assert (part.seed, part.depends_on["recipe"]) == (1, "new")
        [older] = list_older(folder)
        assert (older.seed, older.depends_on["recipe"]) == (2, "old")
        assert list_remarks([part], [older]) == [
            "mine: 1 seed left out (2), as what makes its results has changed since (recipe)."
            " `propagation lab run` makes them again."
        ]


async def test_a_version_that_comes_back_is_the_newest(tmp_path):
    await run(tmp_path / "run", "old", [1])
    await run(tmp_path / "run", "new", [2])
    await run(tmp_path / "run", "old", [3])
    assert [part.seed for part in read_parts(tmp_path / "run")] == [1, 3]


async def test_files_that_do_not_say_which_is_newer_are_named(tmp_path):
    """As an earlier release wrote them."""
    folder = tmp_path / "run"
    await run(folder, "old", [1, 2])
    await run(folder, "new", [1])
    for path in folder.glob("mine-*.npz"):
        columns = {name: values for name, values in np.load(path).items() if name != "order"}
        np.savez(path, **columns)
    with pytest.raises(
        PropagationError,
        match=r"of mine of 2 versions, and nothing in mine-1\.npz and mine-2\.npz says which is",
    ):
        read_parts(folder)
    (folder / "mine-2.npz").unlink()
    assert [part.order for part in read_parts(folder)] == [0]


async def test_results_of_other_code_are_not_joined_and_reports_say_it(tmp_path, monkeypatch):
    folder = tmp_path / "run"
    monkeypatch.setattr(dependencies, "digest_code", lambda: "code-1")
    await run(folder, "", [1, 2])
    await run(folder, "", [1], "other")
    monkeypatch.setattr(dependencies, "digest_code", lambda: "code-2")
    await run(folder, "", [3])
    parts = read_parts(folder)
    assert [(part.method, part.seed) for part in parts] == [("mine", 3), ("other", 1)]
    mixed, left_out = list_remarks(parts, list_older(folder))
    assert "The code of this program is not the same in all rows" in mixed
    assert "mine by code-2; other by code-1" in mixed
    assert left_out.startswith("mine: 2 seeds left out (1, 2), as what makes its results")
    assert "(code)" in left_out
