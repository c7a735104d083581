"""Every method of the laboratory, against one suite."""

import asyncio
import dataclasses
import sys
from pathlib import Path

import numpy as np
import pytest

from propagation.adapters.offline.embedder import HashedEmbedder
from propagation.evaluation.stream import EvaluationSettings
from propagation.laboratory.history import Questions
from propagation.laboratory.methods import (
    MethodFailed,
    MethodNotInstalled,
    Popularity,
    Program,
    Random,
    is_live,
)
from propagation.laboratory.methods.recnet import (
    NUMBERS_VARIANTS,
    NumbersMethod,
    RecNet,
    ReplayCache,
    ReplayPlan,
)
from propagation.laboratory.prequential import Prequential
from propagation.laboratory.protocols.last_events import split_last
from services.assembly import build_engine
from services.cli.research.datasets import check_events
from services.config.settings import Settings
from services.fake_llm.script import Script
from services.fake_llm.server import fake_llm
from services.laboratory.methods import build_methods
from services.laboratory.model import LabModel
from services.runtime.process import SystemClock
from tests.unit.laboratory.lab_data import ITEMS, build_dataset, build_titled
from tests.unit.laboratory.titled_data import build_settings

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
    return Program(name, [sys.executable, str(path)], path, "missing")


def build_recnet(dataset):
    def open_engine(database, seed):
        settings = Settings(database=database)
        workflow = settings.workflow.model_copy(update={"seed": seed})
        return build_engine(settings.model_copy(update={"workflow": workflow}), clock=SystemClock())

    plan = ReplayPlan({}, "", open_engine, step=512)
    return RecNet("recnet", plan, ReplayCache(dataset, check_events))


def build_numbers(dataset, name="recnet-no-cpr"):
    return NumbersMethod(
        name, {}, dataset, NUMBERS_VARIANTS[name], HashedEmbedder(7), EvaluationSettings()
    )


@pytest.fixture(params=["random", "pop", "program", "recnet", "numbers"])
def method(request, tmp_path):
    return {
        "random": Random,
        "pop": Popularity,
        "program": lambda: build_program(tmp_path, COUNTING),
        "recnet": lambda: build_recnet(build_dataset()),
        "numbers": lambda: build_numbers(build_titled()),
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


async def test_no_method_sees_its_target(method):
    """The scores do not depend on the targets, and the targets are not in the history."""
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
        (COUNTING.replace("counts[questions", "1j * counts[questions"), "not finite real"),
        ("import sys\nopen(sys.argv[1] + '/scores.npy', 'w').close()", "cannot be read"),
        (
            "import sys, numpy as np\n"
            "with open(sys.argv[1] + '/scores.npy', 'wb') as file: np.savez(file, a=1)",
            "several arrays",
        ),
        ("import sys, shutil\nshutil.rmtree(sys.argv[1])", "cannot be read"),
        ("import sys\nsys.stderr.write('x' * 10_000)\nsys.exit(2)", "ended with 2: x{300}$"),
    ],
)
@pytest.mark.filterwarnings("ignore:invalid value")
async def test_a_program_that_fails_is_told_in_one_sentence(tmp_path, text, said):
    history, targets = split_last(build_dataset())
    with pytest.raises(MethodFailed, match=said) as told:
        await build_program(tmp_path, text).score(history, ask_all(targets), 1)
    assert "Traceback" not in str(told.value)


async def test_a_program_that_takes_too_long_is_ended_in_one_sentence(tmp_path):
    history, targets = split_last(build_dataset())
    program = build_program(tmp_path, "import time\ntime.sleep(77)")
    hasty = dataclasses.replace(program, minutes=0.005)
    with pytest.raises(MethodFailed, match=r"ended after 0\.005 minutes; allow more with --progr"):
        await hasty.score(history, ask_all(targets), 1)


async def test_a_program_reads_the_texts_of_items_in_the_order_of_rows(tmp_path):
    dataset = build_titled()
    history, targets = split_last(dataset)
    program = build_program(
        tmp_path,
        "import json, sys, numpy as np\n"
        "folder = sys.argv[1]\n"
        "items = [json.loads(line) for line in open(folder + '/items.jsonl', encoding='utf-8')]\n"
        "assert items[0].keys() == {'id', 'title', 'description', 'attributes', 'categories'}\n"
        "lengths = np.array([len(one['title']) for one in items])\n"
        "candidates = np.load(folder + '/questions.npz')['candidates']\n"
        "np.save(folder + '/scores.npy', lengths[candidates])",
    )
    reading = dataclasses.replace(program, items=dataset.items)
    scores = await reading.score(history, ask_all(targets), 1)
    assert scores[0].tolist() == [len(item.title) for item in dataset.items]


async def test_a_program_that_is_missing_is_not_installed(tmp_path):
    history, targets = split_last(build_dataset())
    nowhere = tmp_path / "python"
    program = Program("ease", [str(nowhere)], nowhere, "`make baselines` installs it")
    with pytest.raises(MethodNotInstalled, match="ease: `make baselines` installs it"):
        await program.score(history, ask_all(targets), 1)


async def wait_for(is_done):
    for _ in range(500):
        if is_done():
            return True
        await asyncio.sleep(0.02)
    return False


def has_ended(pid):
    state = Path(f"/proc/{pid}/stat")
    return not state.exists() or state.read_text().rpartition(")")[2].split()[0] == "Z"


async def test_a_program_that_is_cancelled_ends_with_all_that_it_started(tmp_path):
    history, targets = split_last(build_dataset())
    mark = tmp_path / "child"
    program = build_program(
        tmp_path,
        "import subprocess, pathlib, sys\n"
        "child = subprocess.Popen(['sleep', '77'])\n"
        f"pathlib.Path({str(mark)!r}).write_text(str(child.pid))\n"
        "child.wait()",
    )
    running = asyncio.create_task(program.score(history, ask_all(targets), 1))
    assert await wait_for(lambda: mark.exists() and mark.read_text())
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    child = int(mark.read_text())
    assert await wait_for(lambda: has_ended(child)), "the program's child runs on"


async def test_a_method_that_is_missing_can_stand_beside_agents(tmp_path, monkeypatch):
    """Whether it answers live is asked before it is known that its packages are missing."""
    monkeypatch.setenv("BASELINES_ENVIRONMENT", str(tmp_path / "nowhere"))
    async with fake_llm(Script()) as server:
        model = LabModel(build_settings(server), patience=0.0)
        dataset = build_titled()
        names = ["rec(pop)", "ease"]
        _, ease = build_methods(names, dataset, Settings(), check_events, model)
    assert not is_live(ease)
    history, targets = Prequential().split(dataset)
    with pytest.raises(MethodNotInstalled, match="not installed"):
        await Prequential().run(ease, history, targets, 1)
