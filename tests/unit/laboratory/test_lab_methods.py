"""Every method of the laboratory, against one suite."""

import sys
from pathlib import Path

import numpy as np
import pytest

from propagation.laboratory.history import Questions, split_last
from propagation.laboratory.methods import (
    MethodFailed,
    MethodNotInstalled,
    Popularity,
    Program,
    Random,
)
from propagation.laboratory.methods.recnet import RecNet
from services.assembly import build_engine
from services.cli.research.datasets import check_events
from services.config.settings import Settings
from services.runtime.process import SystemClock
from tests.unit.laboratory.lab_data import ITEMS, build_dataset

COUNTING = """
import sys, numpy as np
history = np.load(sys.argv[1] + "/history.npz")
questions = np.load(sys.argv[1] + "/questions.npz")
counts = np.bincount(history["item"], minlength=int(history["items"]))
np.save(sys.argv[1] + "/scores.npy", counts[questions["candidates"]])
"""


def build_program(folder, text, name="counting"):
    path = Path(folder) / f"{name}.py"
    path.write_text(text)
    return Program(name, [sys.executable, str(path)], "missing")


def build_recnet(dataset):
    def open_engine(database, seed):
        settings = Settings(database=database)
        workflow = settings.workflow.model_copy(update={"seed": seed})
        return build_engine(settings.model_copy(update={"workflow": workflow}), clock=SystemClock())

    return RecNet("recnet", dataset, open_engine, check_events)


@pytest.fixture(params=["random", "pop", "program", "recnet"])
def method(request, tmp_path):
    return {
        "random": Random,
        "pop": Popularity,
        "program": lambda: build_program(tmp_path, COUNTING),
        "recnet": lambda: build_recnet(build_dataset()),
    }[request.param]()


def ask_all(targets):
    candidates = np.tile(np.arange(ITEMS), (len(targets.user), 1))
    return Questions(targets.user, targets.time, candidates)


async def test_there_is_one_finite_score_for_each_candidate(method):
    history, targets = split_last(build_dataset())
    questions = ask_all(targets)
    scores = await method.score(history, questions, 1)
    assert scores.shape == questions.candidates.shape
    assert np.isfinite(scores).all()


async def test_the_same_seed_gives_the_same_scores(method):
    history, targets = split_last(build_dataset())
    first, second = [await method.score(history, ask_all(targets), 3) for _ in range(2)]
    assert np.array_equal(first, second)


async def test_no_method_sees_the_future(method):
    """Scores are the same whatever the targets are."""
    history, targets = split_last(build_dataset())
    questions = ask_all(targets)
    before = await method.score(history, questions, 3)
    moved = targets._replace(item=(targets.item + 7) % ITEMS)
    assert not np.array_equal(moved.item, targets.item)
    assert np.array_equal(await method.score(history, ask_all(moved), 3), before)
    known = set(zip(history.user.tolist(), history.item.tolist(), strict=True))
    assert not known & set(zip(targets.user.tolist(), targets.item.tolist(), strict=True))


async def test_pop_counts_users_and_not_repeats():
    history, targets = split_last(build_dataset())
    scores = (await Popularity().score(history, ask_all(targets), 1))[0]
    pairs = set(zip(history.user.tolist(), history.item.tolist(), strict=True))
    assert scores.tolist() == [sum(item == one for _, one in pairs) for item in range(ITEMS)]


async def test_recnet_learns_the_communities():
    history, targets = split_last(build_dataset())
    scores = await build_recnet(build_dataset()).score(history, ask_all(targets), 1)
    own = targets.item[:, None] // (ITEMS // 2) == np.arange(ITEMS)[None] // (ITEMS // 2)
    assert scores[own].mean() > scores[~own].mean() + 0.1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("raise SystemExit('no good weights')", "ended with 1: no good weights"),
        ("pass", "scores.npy cannot be read"),
        ("import sys, numpy as np\nnp.save(sys.argv[1] + '/scores.npy', np.zeros(3))", "shape"),
        (COUNTING.replace("counts[quest", "np.inf * counts[quest"), "not finite"),
        (COUNTING.replace("counts[questions", "np.array(['a'])[0 * questions"), "not finite"),
    ],
)
@pytest.mark.filterwarnings("ignore:invalid value")
async def test_a_program_that_fails_is_told_in_one_sentence(tmp_path, text, said):
    history, targets = split_last(build_dataset())
    with pytest.raises(MethodFailed, match=said) as told:
        await build_program(tmp_path, text).score(history, ask_all(targets), 1)
    assert "Traceback" not in str(told.value)


async def test_a_program_that_is_missing_is_not_installed(tmp_path):
    history, targets = split_last(build_dataset())
    program = Program("ease", [str(tmp_path / "python")], "`make baselines` installs it")
    with pytest.raises(MethodNotInstalled, match="ease: `make baselines` installs it"):
        await program.score(history, ask_all(targets), 1)
