"""The prequential protocol: what is known at each target, live answers, refits, and figures."""

from dataclasses import replace

import numpy as np
import pytest

from propagation.datasets.dataset import Events, assemble, create_without_text
from propagation.evaluation.kernels.arms import RANKINGS
from propagation.evaluation.protocols.numbers_ranking import evaluate_prequential
from propagation.evaluation.protocols.passes import HR1, N10
from propagation.evaluation.stream import EvaluationSettings, build_stream
from propagation.laboratory.experiments import EXPERIMENTS
from propagation.laboratory.history import History, Questions, count_known
from propagation.laboratory.methods import Popularity, Random, is_live
from propagation.laboratory.methods.popularity import count_adopters
from propagation.laboratory.prequential import Prequential
from propagation.laboratory.prequential.protocol import list_known, list_pools
from propagation.laboratory.runs import (
    build_report,
    collect_results,
    compare,
    open_run,
    plan_run,
    read_known,
    read_parts,
    run_methods,
)
from propagation.model import ClientKind, InvalidInput, PropagationError
from services.assembly import FITTABLE_EMBEDDERS
from services.cli.research.datasets import check_events
from services.config.settings import Settings
from services.fake_llm.script import Script
from services.fake_llm.server import fake_llm
from services.laboratory.methods import build_methods
from services.laboratory.model import LabModel
from tests.unit.laboratory.lab_data import EACH, USERS, build_titled
from tests.unit.laboratory.test_no_future import build_with_other_future
from tests.unit.laboratory.test_recnet_model import Planted as PlantedLLM
from tests.unit.laboratory.titled_data import build_settings

PROTOCOL = Prequential()
LIVE = ("pop", "recnet", "recnet-off", "recnet-numbers", "recnet-em")


def build(name, dataset):
    (method,) = build_methods([name], dataset, Settings(), check_events)
    return method


def build_dataset(rows, items=14):
    """Events of (user, item), one a second."""
    events = Events("rows")
    for second, (user, item) in enumerate(rows):
        events.append(f"u{user}", f"i{item}", 1_000 * second)
    catalogue = {f"i{n}": create_without_text(ClientKind.ITEM, f"i{n}") for n in range(items)}
    return assemble("rows", catalogue, {}, events, 1)


def ask_everything(history, targets):
    everything = np.broadcast_to(np.arange(history.items), (len(targets.user), history.items))
    return Questions(targets.user, targets.time, everything)


async def follow(method, history, targets, seed=1):
    questions = ask_everything(history, targets)
    answers = method.follow(history, questions, list_known(targets), seed)
    return np.array([scores async for scores in answers])


def test_targets_are_events_of_known_users_that_repeat_nothing():
    first = [(user, 0) for user in range(10)]
    dataset = build_dataset([*first, *((user, 1) for user in range(10)), (0, 0), (0, 2), (11, 2)])
    history, targets = Prequential(first=0.5).split(dataset)
    assert len(dataset) == 23
    # Events 11 to 19 and 21: event 10 is before the half, 20 is a repeat, and 22 a first event.
    assert targets.known.tolist() == [*range(11, 20), 21]
    assert targets.user.tolist() == [*range(1, 10), 0]
    known = count_known(history, targets)
    assert known.history.tolist() == [1] * 9 + [3]
    assert known.adopters.tolist() == [*range(1, 10), 0]
    pools = list(list_pools(history, targets))
    assert pools[-1].tolist() == [*range(3, 14)], "neither what user 0 had nor the target"


@pytest.mark.parametrize(
    ("first", "left"), [(0.7, "9 targets of 9 users"), (0.99, "1 target of 1 user")]
)
def test_a_share_that_leaves_too_few_users_says_how_many_and_what_to_set(first, left):
    """Twenty users take an item, and then ten of them another one: events 20 to 29 are targets."""
    users = [*range(20), *range(10)]
    dataset = build_dataset([(user, place // 20) for place, user in enumerate(users)])
    assert len(Prequential(first=0.66).split(dataset)[1].user) == 10
    said = (
        rf"behind the first {100 * first:g}% \(--after {first}\), rows has {left}, and"
        " ours/prequential needs targets of at least 10: set --after to 0.66 or less. Targets are"
    )
    with pytest.raises(InvalidInput, match=said):
        Prequential(first=first).split(dataset)


def test_data_that_suit_no_share_are_refused_as_such():
    dataset = build_dataset([(user % 9, user // 9) for user in range(27)])
    with pytest.raises(InvalidInput, match="no --after leaves as many, as 9 users can have one"):
        Prequential(first=0.99).split(dataset)


def test_runs_that_begin_at_other_shares_are_other_runs(tmp_path):
    dataset = build_titled()

    def plan(first):
        return plan_run("ours/prequential", dataset, Prequential(first=first))

    with open_run(tmp_path / "run", plan(0.401)):
        pass
    with pytest.raises(PropagationError, match="holds another run: it differs in described"):
        open_run(tmp_path / "run", plan(0.404)).__enter__()
    assert [Prequential(first=one).share for one in (0.4, 0.29, 0.404)] == ["40%", "29%", "40.4%"]


def test_what_is_known_without_moments_is_the_whole_history():
    dataset = build_titled()
    history, targets = PROTOCOL.split(dataset)
    whole = count_known(history, targets._replace(known=None))
    assert set(whole.history.tolist()) == {EACH}
    assert np.array_equal(whole.adopters, count_adopters(history)[targets.item])


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize(
    ("name", "arm"), [("recnet-numbers", "offk_adoption"), ("recnet-no-propagation", "offk")]
)
async def test_figures_are_those_of_propagation_evaluate(name, arm, seed):
    """Target by target; the data have no two events of one time."""
    dataset, kept = build_titled(), []
    settings = Settings()
    options = EvaluationSettings(
        seeds=(seed,),
        session_k=settings.workflow.session.k,
        taste_k=settings.workflow.taste.k,
        ranker=settings.workflow.ranker,
    )
    report = await evaluate_prequential(
        build_stream(dataset),
        FITTABLE_EMBEDDERS[settings.embedder](settings),
        options,
        keep=lambda _, __, ranked: kept.append(ranked),
    )
    ranked = kept[0].select_with_past()
    history, targets = PROTOCOL.split(dataset)
    values = await PROTOCOL.run(build(name, dataset), history, targets, seed)
    assert np.array_equal(targets.known, ranked.event)
    column = RANKINGS.index(arm)
    assert values["n10"] == pytest.approx(ranked.values[:, column, N10], abs=1e-9)
    assert values["n1"] == pytest.approx(ranked.values[:, column, HR1], abs=1e-9)
    assert values["n10"].mean() == pytest.approx(report.arm(arm).n10)
    assert not values["behind"].any()
    known = count_known(history, targets)
    assert np.array_equal(known.history, ranked.past)
    assert np.array_equal(known.adopters, ranked.adopters)


@pytest.mark.parametrize("name", LIVE)
async def test_a_live_answer_depends_on_nothing_after_its_moment(name):
    """The last two events of all users are replaced, and there are more of them."""
    dataset = build_titled()
    _, targets = PROTOCOL.split(dataset)
    count = int((list_known(targets) <= USERS * (EACH - 2)).sum())
    found = []
    for one in (dataset, build_with_other_future(dataset)):
        method = build(name, one)
        assert is_live(method)
        history = History.of(one, np.arange(len(one)))
        found.append(await follow(method, history, targets))
        assert len(found[-1]) == len(targets.user)
    assert count > USERS
    assert np.array_equal(found[0][:count], found[1][:count])
    assert not np.array_equal(found[0][count:], found[1][count:])
    assert len(np.unique(found[0][:count])) > 5


@pytest.mark.parametrize("name", ["pop", "recnet", "recnet-off", "recnet-em-lr-ls"])
async def test_a_live_answer_is_that_of_a_method_that_learned_the_same_events(name):
    """So are the counts, if it answers once; learning begins with the clients' texts."""
    dataset = build_titled()
    history, targets = PROTOCOL.split(dataset)
    row = 40
    known = int(list_known(targets)[row])
    one = targets._replace(
        user=targets.user[[row]],
        item=targets.item[[row]],
        time=targets.time[[row]],
        known=np.array([known]),
    )
    following, learning = build(name, dataset), build(name, dataset)
    live = await follow(following, history, one)
    whole = await learning.score(history.select(slice(known)), ask_everything(history, one), 1)
    assert np.array_equal(live, whole)
    if name.startswith("recnet"):
        assert count(following) == count(learning)


def count(method):
    """What a replay counted, but for its seconds."""
    counts = dict(method.get_measured(1).counts)
    del counts["learning seconds"]
    return counts


@pytest.mark.slow
@pytest.mark.parametrize("name", ["recnet-em", "recnet-em-lr-ls"])
async def test_clients_send_to_each_other_between_live_answers(name):
    """Many answers change nothing of what is sent; without sending, they are others."""
    dataset = build_titled()
    history, targets = PROTOCOL.split(dataset)
    kept = slice(0, None, 6)
    some = targets._replace(
        **{part: getattr(targets, part)[kept] for part in ("user", "item", "time", "known")}
    )
    last = some._replace(
        **{part: getattr(some, part)[-1:] for part in ("user", "item", "time", "known")}
    )
    often, once, alone = build(name, dataset), build(name, dataset), build("recnet-alone", dataset)
    answers = await follow(often, history, some)
    assert np.array_equal(answers[-1:], await follow(once, history, last))
    assert count(often) == count(once)
    assert count(often)["messages"] > 3 * last.known[0]
    assert not np.array_equal(answers, await follow(alone, history, some))


class Fitted(Random):
    """Notes what it is fitted on and asked, and scores by chance."""

    def __init__(self):
        self.fits = []

    async def score(self, history, questions, seed):
        self.fits.append((len(history.user), questions))
        return np.random.default_rng(seed).random(questions.candidates.shape)


async def test_methods_that_do_not_learn_live_are_fitted_at_equal_distances():
    history, targets = PROTOCOL.split(build_titled())
    method = Fitted()
    values = await Prequential(refits=4).run(method, history, targets, 1)
    start, events = int(0.4 * len(history.user)), len(history.user)
    moments = np.linspace(start, events, 5).astype(int)[:-1]
    assert [known for known, _ in method.fits] == moments.tolist()
    known = list_known(targets)
    asked = np.concatenate([questions.time for _, questions in method.fits])
    assert np.array_equal(asked, targets.time), "each target once, in its order"
    last = np.array([moments[moments <= one].max() for one in known])
    assert np.array_equal(values["behind"], known - last)
    assert 0 < values["behind"].mean() < (events - start) / 4


class Planted(Random):
    """Knows all targets of every other user, and ranks the others' by chance."""

    name = "planted"

    def __init__(self, targets):
        pairs = zip(targets.user.tolist(), targets.time.tolist(), strict=True)
        self._target = dict(zip(pairs, targets.item.tolist(), strict=True))

    async def score(self, history, questions, seed):
        scores = np.random.default_rng(seed).random(questions.candidates.shape)
        rows = zip(questions.user.tolist(), questions.time.tolist(), strict=True)
        for row, (user, time) in enumerate(rows):
            if user % 2:
                scores[row, self._target[user, time]] = 2.0
        return scores


async def run(folder, methods, dataset, seeds=(1,)):
    with open_run(folder, plan_run("ours/prequential", dataset, PROTOCOL)):
        await run_methods(folder, dataset, PROTOCOL, methods, seeds, lambda *_: None)
    return read_parts(folder, [method.name for method in methods])


async def test_standard_errors_are_by_user_and_follow_from_what_is_planted(tmp_path):
    dataset = build_titled()
    _, targets = PROTOCOL.split(dataset)
    methods = [Planted(targets), Random()]
    parts = await run(tmp_path / "run", methods, dataset, range(1, 9))
    planted, chance = compare(parts, ("n1", "n10"), "random")
    # The others are right in one of ten draws.
    right = np.where(targets.user % 2, 1.0, 0.1)
    assert planted.means["n1"] == pytest.approx(right.mean(), abs=0.03)
    sums = np.bincount(targets.user, right - right.mean())
    by_user = np.sqrt(USERS / (USERS - 1) * (sums**2).sum()) / len(right)
    assert planted.errors["n1"] == pytest.approx(by_user, rel=0.1)
    assert planted.errors["n1"] > 1.5 * right.std() / np.sqrt(len(right)), "not independent"
    against = planted.against
    means = {}
    for (user, _), gain in zip(
        parts[0].target, np.mean([one.values["n10"] for one in parts[:8]], axis=0), strict=True
    ):
        means.setdefault(user, []).append(gain - chance.means["n10"])
    each = np.array([np.mean(gains) for gains in means.values()])
    assert len(each) == USERS
    assert against.mean == pytest.approx(each.mean())
    assert against.standard_error == pytest.approx(each.std(ddof=1) / np.sqrt(USERS))


async def test_a_report_and_a_table_have_what_was_known_at_each_target(tmp_path):
    dataset, experiment = build_titled(), EXPERIMENTS["ours/prequential"]
    parts = await run(tmp_path / "run", [Popularity(), Random()], dataset)
    known = read_known(tmp_path / "run")
    _, targets = PROTOCOL.split(dataset)
    assert known.history.tolist() == (list_known(targets) // USERS).tolist()
    columns = collect_results(parts, known).parts[0]
    assert columns["history"].tolist() == known.history.tolist()
    assert len(columns["n10"]) == len(targets.user)
    plan = plan_run("ours/prequential", dataset, PROTOCOL)
    report = build_report(experiment, plan, parts, known, "random", {})
    slices = {one.slice: one.targets for one in report.slices}
    assert slices["2 to 5 known interactions of the user"] == len(targets.user)
    assert slices["0 known adopters of the item"] == int((known.adopters == 0).sum()) > 0
    assert "events behind" in report.headers.values()
    pop = {one.method: one for one in report.methods}["pop"]
    assert pop.errors["n10"] > 0


async def test_a_method_beside_an_agent_answers_live_too():
    """Methods that agents ask for scores take turns; what they answer live is the same."""
    dataset = build_titled()
    async with fake_llm(Script()) as server:
        model = LabModel(build_settings(server), patience=0.0)
        names = ["rec(pop)", "pop", "llmrank", "recnet-numbers"]
        _, pop, llmrank, numbers = build_methods(names, dataset, Settings(), check_events, model)
    history, targets = PROTOCOL.split(dataset)
    assert all(is_live(one) for one in (pop, llmrank, numbers))
    values = await PROTOCOL.run(pop, history, targets, 1)
    alone = await PROTOCOL.run(Popularity(), history, targets, 1)
    assert np.array_equal(values["n10"], alone["n10"])
    assert not values["behind"].any()
    (bare,) = build_methods(["recnet-numbers"], dataset, Settings(), check_events)
    assert np.array_equal(
        (await PROTOCOL.run(numbers, history, targets, 1))["n10"],
        (await PROTOCOL.run(bare, history, targets, 1))["n10"],
    )


async def test_a_model_sees_each_user_at_the_moment_of_the_target(tmp_path):
    """One question a target, as estimated; its history is what the user had just before it."""
    dataset = build_titled()
    history, targets = PROTOCOL.split(dataset)
    shown = []
    async with fake_llm(Script()) as server:
        model = LabModel(build_settings(server), patience=0.0)
        ask_for = model.ask_for

        def note(method):
            ask = ask_for(method)

            async def ask_noted(question):
                shown.append(question.data)
                return await ask(question)

            return ask_noted

        model.ask_for = note
        (method,) = build_methods(["llmrank"], dataset, Settings(), check_events, model)
        async with model.open(tmp_path):
            values = await PROTOCOL.run(method, history, targets, 1)
    assert len(shown) == len(targets.user)
    assert sum(one.calls for one in PROTOCOL.estimate(method, history, targets, 1)) == len(shown)
    titles = [item.title for item in dataset.items]
    for data, user, item, known in zip(
        shown, targets.user, targets.item, list_known(targets), strict=True
    ):
        had = history.item[:known][history.user[:known] == user][::-1]
        assert [text.split(":")[0] for text in data["history"]] == [titles[one] for one in had]
        candidates = [text.split(":")[0] for text in data["items_to_rank"].values()]
        assert len(set(candidates)) == 10
        assert titles[item] in candidates
        assert not {titles[one] for one in had} & set(candidates)
    assert not values["behind"].any()
    assert np.isnan(values["n10_of_100"]).all()


async def test_an_agent_is_fitted_anew_and_estimated_so(tmp_path):
    dataset = build_titled()
    history, targets = PROTOCOL.split(dataset)
    async with fake_llm(Script()) as server:
        model = LabModel(build_settings(server), patience=0.0)
        (method,) = build_methods(["agentcf"], dataset, Settings(), check_events, model)
    two, four = (
        sum(one.calls for one in Prequential(refits=refits).estimate(method, history, targets, 1))
        for refits in (2, 4)
    )
    assert four > two > 6 * 0.4 * len(history.user) * 2


def test_a_prefix_of_a_history_keeps_its_sizes():
    history = History(3, 4, *(np.arange(3) for _ in range(4)))
    part = history.select(slice(2))
    assert part.event.tolist() == [0, 1]
    assert (part.users, part.items) == (3, 4)
    assert replace(part, users=1).users == 1


@pytest.mark.slow
async def test_recnet_with_a_model_ranks_live_and_pays_once(tmp_path):
    """One learning and one ranking a target; a run that goes on asks nothing again."""
    dataset = build_titled().first(3 * USERS)
    _, targets = PROTOCOL.split(dataset)
    workflow = Settings().workflow.model_copy(update={"update_size": 20})
    settings = Settings().model_copy(update={"workflow": workflow})
    gains = {}
    async with fake_llm(Script(), kind=PlantedLLM) as server:
        for direction, folder in ((1, "up"), (-1, "down"), (1, "up")):
            server.direction = direction
            model = LabModel(build_settings(server), patience=0.0)
            (method,) = build_methods(["recnet-paper"], dataset, settings, check_events, model)
            before = server.seen.calls["rank"]
            with open_run(tmp_path / folder, plan_run("ours/prequential", dataset, PROTOCOL)):
                async with model.open(tmp_path / folder):
                    outcome = await run_methods(
                        tmp_path / folder, dataset, PROTOCOL, [method], [1], lambda *_: None
                    )
            assert outcome.failed == {}
            [part] = read_parts(tmp_path / folder)
            (tmp_path / folder / "recnet-paper-1.npz").unlink()
            asked = server.seen.calls["rank"] - before
            if (direction, folder) in gains:
                assert asked == 0, "replies are kept, and the replay asks the same questions"
                assert np.array_equal(part.values["n10"], gains[direction, folder])
            else:
                assert asked == len(targets.user)
            gains[direction, folder] = part.values["n10"]
            assert not part.values["invalid"].any()
            assert not part.values["behind"].any()
            assert part.measured.counts["questions: backward"] >= targets.known[-1]
            assert "questions: rank" not in part.measured.counts
    assert gains[1, "up"].mean() > gains[-1, "down"].mean() + 0.1
