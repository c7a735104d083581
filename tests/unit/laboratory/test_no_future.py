"""No method sees the future: other events after a moment change no answer about that moment."""

import re

import numpy as np
import pytest

from propagation.datasets.dataset import Events, assemble
from propagation.laboratory.agentcf import list_variants
from propagation.laboratory.history import History, Questions
from propagation.laboratory.methods.recnet import ENGINE_VARIANTS
from services.cli.research.datasets import check_events
from services.config.settings import Settings
from services.fake_llm.script import Script
from services.fake_llm.server import fake_llm
from services.laboratory.asking_methods import FORMS
from services.laboratory.baselines import ENVIRONMENTS
from services.laboratory.methods import KNOWN, build_methods
from services.laboratory.model import LabModel
from tests.unit.laboratory.lab_data import EACH, ITEMS, USERS, build_titled
from tests.unit.laboratory.titled_data import build_settings

CANDIDATES = 10
FUTURE = 1_000 * USERS * (EACH - 2)
"""From here on all events are replaced: the last two of each user."""
PROGRAM = """
import sys, numpy as np
history, questions = (np.load(f"{sys.argv[1]}/{name}.npz") for name in ("history", "questions"))
counts = np.bincount(history["item"], minlength=int(history["items"]))
np.save(sys.argv[1] + "/scores.npy", counts[questions["candidates"]])
"""
INSIDE = {"BASE+REWARD": "pop+recnet-numbers", "BASE": "pop", "REWARD": "pop"}


def give_example(form):
    """A name of this form."""
    if form.startswith("afl1("):
        return "afl2(pop)"
    kind, _, inside = form.partition("(")
    return f"{kind}({INSIDE[inside.removesuffix(')')]})" if inside else form


ASKING = [give_example(form) for form in FORMS]
SLOW = {*ENGINE_VARIANTS, *ENVIRONMENTS, *list_variants()} - {"recnet", "agentcf"}
"""Two replays each, or two processes in an environment of their own, or hundreds of calls."""
NAMES = [
    pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name
    for name in (*KNOWN, "program:", *ASKING)
]


def build_with_other_future(dataset):
    """The same events before FUTURE, and others from then on, also more of them."""
    events = Events("lab")
    for event in sorted(dataset.events, key=lambda one: int(one.user_id[1:])):
        number = int(event.item_id[1:])
        moved = (number + 7) % ITEMS if event.time >= FUTURE else number
        events.append(event.user_id, f"i{moved}", event.time)
    for user in range(USERS):
        events.append(f"u{user}", f"i{user % ITEMS}", 2 * FUTURE + user)
    items = {item.key.id: item for item in dataset.items}
    return assemble("another future", items, {}, events, 5)


def ask_at_the_moment(dataset):
    """The events before FUTURE, and questions about that moment, for all users."""
    user, item, time = dataset.rows()
    known = np.flatnonzero(time < FUTURE)
    draw = np.random.default_rng(3)
    candidates = np.array(
        [draw.choice(ITEMS, CANDIDATES, replace=False) for _ in dataset.users], np.int64
    )
    moments = np.full(len(dataset.users), FUTURE)
    return (
        History(len(dataset.users), ITEMS, user[known], item[known], time[known], known),
        Questions(np.arange(len(dataset.users)), moments, candidates),
    )


async def answer(name, dataset, folder):
    """A method's scores, and what it asked a model."""
    folder.mkdir()
    if name == "program:":
        (folder / "counting.py").write_text(PROGRAM)
        name = f"program:{folder / 'counting.py'}"
    history, questions = ask_at_the_moment(dataset)
    asked = []
    async with fake_llm(Script()) as server:
        model = LabModel(build_settings(server), patience=0.0)
        ask_for = model.ask_for

        def note(method):
            ask = ask_for(method)

            def ask_noted(question):
                asked.append(f"{question.prompt} {question.document}")
                return ask(question)

            return ask_noted

        model.ask_for = note
        [method] = build_methods([name], dataset, Settings(), check_events, model)
        async with model.open(folder):
            scores = await method.score(history, questions, 1)
    return scores, sorted(asked)


def test_two_futures_differ_and_have_one_past():
    dataset = build_titled()
    other = build_with_other_future(dataset)
    (history, questions), (same, same_questions) = map(ask_at_the_moment, (dataset, other))
    for mine, theirs in (
        *zip(vars(history).values(), vars(same).values(), strict=True),
        *zip(questions, same_questions, strict=True),
    ):
        assert np.array_equal(mine, theirs)
    assert dataset.clients == other.clients
    ahead = slice(len(history.user), len(dataset))
    assert not (dataset.rows()[1][ahead] == other.rows()[1][ahead]).any()


@pytest.mark.parametrize("name", NAMES)
async def test_no_method_sees_the_future(name, tmp_path):
    if name in ENVIRONMENTS and not ENVIRONMENTS[name].find_python().exists():
        pytest.skip("`make baselines` installs it")
    dataset = build_titled()
    scores, asked = await answer(name, dataset, tmp_path / "one")
    other_scores, other_asked = await answer(
        name, build_with_other_future(dataset), tmp_path / "other"
    )
    assert np.array_equal(scores, other_scores, equal_nan=True)
    assert asked == other_asked
    assert bool(asked) == (name in ASKING)
    assert np.isfinite(scores).any()
    assert name == "random" or len(np.unique(scores)) > 1, "it would see nothing at all"


async def test_the_same_test_finds_a_method_that_reads_all_events(tmp_path, monkeypatch):
    class Peeking:
        name, depends_on = "peeking", {}

        def __init__(self, dataset):
            self.counts = np.bincount(dataset.rows()[1], minlength=ITEMS)

        async def score(self, history, questions, seed):
            return self.counts[questions.candidates].astype(np.float64)

    built = []

    def build(names, dataset, *rest):
        built.append(Peeking(dataset))
        return built[-1:]

    monkeypatch.setitem(globals(), "build_methods", build)
    with pytest.raises(AssertionError):
        await test_no_method_sees_the_future("pop", tmp_path)
    assert len(built) == 2


def test_every_form_of_a_name_is_tested():
    assert len({*ASKING}) == len(FORMS)
    assert not any(re.search("BASE|REWARD", name) for name in ASKING)
    assert {*ENGINE_VARIANTS} < {*KNOWN}
