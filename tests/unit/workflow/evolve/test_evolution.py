"""Evolution in the whole loop.

Planted communities are split and merged, and harmful plans are refused.
"""

import asyncio
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from propagation.adapters.numpy.index import NumpyIndex
from propagation.adapters.offline.embedder import HashedEmbedder
from propagation.adapters.offline.reasoner import OfflineReasoner
from propagation.adapters.sqlite.index.points import SqlitePoints
from propagation.model import (
    ClientChange,
    ClientKey,
    ClientKind,
    EvolutionKind,
    Gradient,
    InvalidInput,
    LeaseLost,
    Module,
    NewInteraction,
    ReasonerFailed,
    RouterDecision,
    StoreBusy,
    StoreUnreachable,
)
from propagation.numbers.rules import Feature
from propagation.optimization.holdout_judge import Verdict
from propagation.ports import VersionClash
from propagation.workflow.compose import compose
from propagation.workflow.evolve.router_gradients import RouterGradients, list_supported_gradients
from propagation.workflow.learn.checkpoints import take_checkpoint
from propagation.workflow.learn.rebuild import rebuild_view
from propagation.workflow.settings import BankSettings, WorkflowSettings
from tests.unit.workflow.evolve.planted_communities import (
    STYLES,
    build_catalogue,
    compute_written_mass,
    draw_events,
    make_engine,
    open_with_history,
    push,
)
from tests.unit.workflow.learn.comparison import find_differing_arrays
from tests.unit.workflow.test_replica_sync import Shared

START = 0.2


class Told(OfflineReasoner):
    """Decides as a test says.

    Args:
        decide: A kind of evolution, or a function from a case to a kind.
    """

    def __init__(self, decide):
        super().__init__()
        self.decide = decide

    async def decide_router(self, case):
        kind = self.decide(case) if callable(self.decide) else self.decide
        return RouterDecision(
            kind,
            "told to",
            (("a name", "a text"),) * (2 if kind == EvolutionKind.SPLIT else 1),
            "evolve@9",
        )


class Restless:
    """Decides at random, by a seed; it splits below nine routers only.

    It merges only above three routers, and may always rewrite.
    """

    def __init__(self, seed):
        self.draw = np.random.default_rng(seed)
        self.routers = lambda: 0

    def __call__(self, case):
        can = [EvolutionKind.REWRITE]
        if case.halves is not None and self.routers() < 9:
            can += [EvolutionKind.SPLIT, EvolutionKind.SPLIT]
        if case.nearest is not None and self.routers() > 3:
            can += [EvolutionKind.MERGE, EvolutionKind.MERGE]
        return can[self.draw.integers(len(can))]


@pytest.fixture
async def start_engine(tmp_path):
    """Return a function that makes an engine with a history.

    The engines are closed after the test.
    """
    engines = []

    async def start_one(styles=STYLES[:2], events=240, reasoner=None, past=None, **settings):
        engine = make_engine(tmp_path / f"{len(engines)}.db", reasoner, **settings)
        engines.append(engine)
        await open_with_history(engine, styles, events, **(past or {}))
        return engine

    yield start_one
    for engine in engines:
        with suppress(StoreBusy):  # a test closed it
            await engine.close()


def rest_on_routers(view):
    """Make the ranking rely mainly on the taste routers, whose lifts are small after few events."""
    view.combiner.weights[0, Feature.LIFT_TASTE, 0] = 10.0


async def read_visible_state(engine):
    """Return all state by which a caller could tell two engines apart."""
    store = engine.store
    texts = await store.load_texts(sorted(await store.get_text_versions()))
    return (
        await store.get_current_epoch(),
        await store.get_recorded_through(),
        await store.get_last_round(),
        texts,
        await store.get_edges(sorted(texts)),
        await store.get_evolution_runs(9),
        await store.get_router_lineage(),
        {
            name: array.tobytes()
            for name, array in take_checkpoint(engine.numbers.view, barrier=False).arrays.items()
        },
    )


async def assert_mass_as_written(engine):
    taste = engine.numbers.view.state.taste
    written = await compute_written_mass(engine)
    items = engine.numbers.view.items
    assert taste.total.sum() == pytest.approx(written.sum() + START * items, rel=1e-5)
    assert taste.mass[:items].sum(axis=0, dtype=np.float64) == pytest.approx(
        taste.total, rel=1e-5, abs=1e-4
    )
    start = taste.total - written
    assert (start > -1e-3).all()
    assert start.sum() == pytest.approx(START * items, rel=1e-3)


@pytest.mark.slow
async def test_a_router_that_holds_two_communities_is_split_between_them(start_engine, monkeypatch):
    monkeypatch.setattr(Verdict, "published", True)  # thirty users are too few for a verdict
    engine = await start_engine(STYLES[:3], 600, past={"loyal": 1.0}, holdout=100)
    run = await engine.evolve()
    splits = [change for change in run.changes if change.kind == EvolutionKind.SPLIT]
    assert run.published
    assert splits
    assert len(engine.numbers.view.routers) == 2 + len(splits)
    (change,) = (await engine.store.get_router_maps()).maps
    halves = change.halves[splits[0].before[0]]
    users = {
        client.ref >> 1: client.key.id.split("-")[0]
        for client in await engine.store.scan_clients(0, -1, 1_000)
    }
    sides = {
        style: {bool(halves.in_second[row]) for row, mine in users.items() if mine == style}
        for style in STYLES[:3]
    }
    assert all(len(side) == 1 for side in sides.values()), sides
    assert len({side for both in sides.values() for side in both}) == 2


@pytest.mark.slow
async def test_a_plan_for_routers_that_another_process_evolved_meanwhile_is_not_published(
    start_engine, monkeypatch
):
    monkeypatch.setattr(Verdict, "published", True)
    engine = await start_engine(STYLES[:3], 240, Told(EvolutionKind.REWRITE))
    publish = engine.evolution.publisher.publish

    async def publish_twice(decided, epoch):
        await publish(decided, epoch)
        return await publish(decided, epoch)

    with monkeypatch.context() as patched:
        patched.setattr(engine.evolution.publisher, "publish", publish_twice)
        with pytest.raises(LeaseLost, match="another process"):
            await engine.evolve()
    assert [epoch.number for epoch in await engine.store.get_epochs()] == [1, 2]
    await push(engine, draw_events(STYLES[:3], 60, seed=5))
    assert (await engine.evolve()).published


@pytest.mark.slow
async def test_an_answer_that_is_lost_after_the_commit_leaves_the_numbers_as_they_are_stored(
    start_engine, monkeypatch, tmp_path
):
    """Events that were recorded before the evolution are learned by its routers."""
    monkeypatch.setattr(Verdict, "published", True)
    engine = await start_engine(STYLES[:3], 600, past={"loyal": 1.0}, holdout=100)
    await engine.record(list(draw_events(STYLES[:3], 700, seed=2)))
    publish = engine.store.publish_evolution

    async def lose_the_answer(*parts):
        await publish(*parts)
        raise StoreUnreachable("the server ended the connection")

    monkeypatch.setattr(engine.store, "publish_evolution", lose_the_answer)
    with pytest.raises(StoreUnreachable):
        await engine.evolve()
    monkeypatch.setattr(engine.store, "publish_evolution", publish)
    await push(engine, draw_events(STYLES[:3], 300, seed=3))
    assert engine.numbers.view.epoch == (await engine.store.get_current_epoch()).number == 2
    await assert_mass_as_written(engine)
    before = await read_visible_state(engine)
    await engine.close()
    again = make_engine(tmp_path / "0.db", holdout=100)
    await again.open()
    assert await read_visible_state(again) == before
    await again.close()


@pytest.mark.slow
async def test_an_evolution_keeps_no_copy_of_the_embedder(start_engine, monkeypatch, tmp_path):
    """The epoch uses the embedder of the bootstrap, which takes some megabytes."""
    monkeypatch.setattr(Verdict, "published", True)
    engine = await start_engine(STYLES[:3], 240, Told(EvolutionKind.REWRITE))
    run = await engine.evolve()
    assert run.published
    epoch = await engine.store.get_current_epoch()
    assert (epoch.number, epoch.era) == (2, 1)
    names = engine.store.database
    kept = await names.read(
        lambda connection: [
            name
            for (name,) in connection.execute(
                "SELECT name FROM meta WHERE name LIKE 'embedder:%' OR name LIKE 'made_with:%' "
                "ORDER BY name"
            )
        ]
    )
    assert kept == ["embedder:1", "made_with:0", "made_with:1"]
    assert await engine.store.check() == []
    await names.write(lambda connection: connection.execute("DELETE FROM router_map"))
    [problem] = await engine.store.check()
    assert "map of evolution 1" in problem
    await names.write(lambda connection: connection.execute("DELETE FROM epoch WHERE number = 2"))
    assert any(
        problem.startswith("epoch 2,") and f"sequence {epoch.sequence}, is missing" in problem
        for problem in await engine.store.check()
    )


@pytest.mark.slow
async def test_a_restart_finds_the_embedder_of_the_bootstrap(start_engine, monkeypatch, tmp_path):
    monkeypatch.setattr(Verdict, "published", True)
    engine = await start_engine(STYLES[:3], 240, Told(EvolutionKind.REWRITE))
    await engine.evolve()
    epoch = await engine.store.get_current_epoch()
    await engine.close()
    again = make_engine(tmp_path / "0.db", Told(EvolutionKind.REWRITE))
    await again.open()
    try:
        assert again.embedder.name == epoch.embedder
        assert again.index_maintenance.repaired == 0
    finally:
        await again.close()


@pytest.mark.slow
async def test_there_are_never_more_routers_than_the_setting_lets_there_be(
    start_engine, monkeypatch
):
    monkeypatch.setattr(Verdict, "published", True)
    seen_halves = []

    def choose_split(case):
        seen_halves.append(case.halves is not None)
        return EvolutionKind.SPLIT if case.halves is not None else None

    engine = await start_engine(
        STYLES[:3], 240, Told(choose_split), evolve_k_most=3, evolve_support=1
    )
    for part in range(3):
        await push(engine, draw_events(STYLES[:3], 60, seed=50 + part))
        await engine.evolve()
        assert len(engine.numbers.view.routers) <= 3
    assert len(engine.numbers.view.routers) == 3
    assert not seen_halves[-1]
    assert (WorkflowSettings().k_most, WorkflowSettings(taste=BankSettings(k=2)).k_most) == (
        160,
        18,
    )


async def test_two_routers_that_hold_one_community_are_merged(start_engine):
    engine = await start_engine(("jazz",), 240)
    run = await engine.evolve()
    assert [(change.kind, change.before, change.after) for change in run.changes] == [
        (EvolutionKind.MERGE, (0, 1), (0,))
    ]
    assert run.published
    assert engine.numbers.view.routers == [0]
    await assert_mass_as_written(engine)
    await push(engine, draw_events(("jazz",), 60, seed=5))
    assert {
        edge.router
        for edges in (await engine.store.get_edges(list(range(40)))).values()
        for edge in edges
    } == {0}
    await assert_mass_as_written(engine)


async def test_a_harmful_evolution_is_refused_and_changes_nothing(start_engine):
    engine = await start_engine(
        STYLES,
        400,
        Told(EvolutionKind.MERGE),
        taste=BankSettings(k=4),
        past={"loyal": 1.0, "users": 6},
    )
    await engine.numbers.run(rest_on_routers)
    before = await read_visible_state(engine)
    run = await engine.evolve()
    assert not run.published
    assert len(run.changes) == 2
    assert run.log_loss_after - run.log_loss_before > run.standard_error
    assert run.verdict.startswith("worse")
    after = await read_visible_state(engine)
    assert await engine.store.get_evolution_runs(9) == [run]
    assert [*after[:5], *after[6:]] == [*before[:5], *before[6:]]


async def test_a_dry_run_changes_nothing(start_engine):
    engine = await start_engine(STYLES[:3])
    before = await read_visible_state(engine)
    run = await engine.evolve(dry_run=True)
    assert run.changes
    assert (run.run, run.sequence, run.published) == (0, 0, False)
    assert await read_visible_state(engine) == before
    done = await engine.evolve()
    assert (done.changes, done.verdict, done.log_loss_after) == (
        run.changes,
        run.verdict,
        run.log_loss_after,
    )


class Mute(OfflineReasoner):
    async def decide_router(self, case):
        raise ReasonerFailed("it said nothing")


async def test_a_reasoner_that_does_not_decide_is_told_and_changes_nothing(start_engine):
    engine = await start_engine(STYLES[:3], 200, Mute())
    before = await read_visible_state(engine)
    run = await engine.evolve()
    assert (run.published, run.changes) == (False, ())
    assert "did not decide" in run.verdict
    assert "it said nothing" not in run.verdict, "a model's server may quote a user"
    assert (await read_visible_state(engine))[:5] == before[:5]


async def test_before_bootstrap_and_without_gradients_there_is_nothing_to_do(start_engine):
    engine = await start_engine(events=0)
    assert (await engine.evolve()).verdict.startswith("no router asks")
    early = make_engine(engine.store.database.path.with_name("early.db"))
    await early.open()
    try:
        assert "bootstrap" in (await early.evolve()).verdict
    finally:
        await early.close()


async def test_an_evolution_is_an_epoch_that_a_restart_and_a_rebuild_find(
    start_engine, monkeypatch, tmp_path
):
    monkeypatch.setattr(Verdict, "published", True)
    engine = await start_engine(STYLES[:3])
    run = await engine.evolve()
    assert (await engine.store.get_current_epoch()).sequence == run.sequence
    await push(engine, draw_events(STYLES[:3], 60, seed=9))
    state = engine.numbers.view.state
    view = await rebuild_view(engine.store, engine.embedder, engine.data.create_first_view())
    assert find_differing_arrays(view.state, state) == []
    assert await engine.index_maintenance.repair() == 0
    assert await engine.store.check() == []
    await engine.close()
    again = make_engine(tmp_path / "0.db")
    await again.open()
    try:
        assert find_differing_arrays(again.numbers.view.state, state) == []
        assert again.numbers.view.epoch == run.epoch
        assert again.numbers.view.routers == engine.numbers.view.routers
        await push(again, draw_events(STYLES[:3], 40, seed=11))
        await assert_mass_as_written(again)
    finally:
        await again.store.close()


async def run_evolutions(engine, restless, count, events=6, seed=100):
    """Run `count` evolutions, every seventh an undo, with events in between.

    Returns:
        (number of published runs, number of undos).
    """
    restless.routers = lambda: len(engine.numbers.view.routers)
    published = undone = 0
    last = None
    for number in range(count):
        await push(engine, draw_events(STYLES[:3], events, seed=seed + number))
        if number % 7 == 6 and last is not None:
            run = await engine.evolve(undo=last)
            undone += 1
            last = None
        else:
            run = await engine.evolve()
            last = run.run
        published += run.published
    return published, undone


@pytest.mark.slow
@pytest.mark.parametrize(("count", "events"), [(8, 6), (100, 12)])
async def test_after_many_evolutions_mass_is_the_sum_of_what_interactions_wrote(
    start_engine, monkeypatch, count, events
):
    monkeypatch.setattr(Verdict, "published", True)
    restless = Restless(seed=count)
    engine = await start_engine(
        STYLES[:3], 160, Told(restless), evolve_support=1, evolve_most=2, holdout=40
    )
    published, undone = await run_evolutions(engine, restless, count, events)
    assert published >= count * 0.8
    assert undone
    await assert_mass_as_written(engine)
    view = await rebuild_view(engine.store, engine.embedder, engine.data.create_first_view())
    assert find_differing_arrays(view.state, engine.numbers.view.state) == []
    assert await engine.store.check() == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", [EvolutionKind.SPLIT, EvolutionKind.MERGE])
async def test_learning_goes_on_until_the_end_of_a_publication(start_engine, monkeypatch, kind):
    monkeypatch.setattr(Verdict, "published", True)
    engine = await start_engine(STYLES[:3], 200, Told(kind), taste=BankSettings(k=3), evolve_most=1)
    found = engine.store.get_clients_with_rules
    learned = []

    async def learn_meanwhile(routers):
        before = engine.numbers.view.applied_through
        await engine.upsert_clients(
            [
                item.model_copy(update={"key": replace(item.key, id=f"late-{item.key.id}")})
                for item in build_catalogue(STYLES[:1], 2)
            ]
        )
        late = [
            replace(event, item_id=f"late-{STYLES[0]}{n % 2}") if n % 5 == 0 else event
            for n, event in enumerate(draw_events(STYLES[:3], 90, seed=77 + len(learned), users=14))
        ]  # users that are new, too
        await engine.record(late)
        while await asyncio.create_task(engine.learn()):
            pass
        learned.append(engine.numbers.view.applied_through - before)
        return await found(routers)

    monkeypatch.setattr(engine.store, "get_clients_with_rules", learn_meanwhile)
    run = await engine.evolve()
    assert [change.kind for change in run.changes] == [kind]
    assert (
        await engine.store.acquire_lease("learn", "another", 1_000) is None
    )  # this process still holds the lease
    await assert_mass_as_written(engine)
    back = await engine.evolve(undo=run.run)
    assert back.published
    assert min(learned) >= 90
    assert len(learned) == 2
    await assert_mass_as_written(engine)
    view = await rebuild_view(engine.store, engine.embedder, engine.data.create_first_view())
    assert find_differing_arrays(view.state, engine.numbers.view.state) == []
    await engine.drain()
    assert await engine.store.check() == []


class CountingMerges(Told):
    """Merges routers, and counts the interactions that it optimises."""

    optimised = 0

    async def backward(self, *asked):
        self.optimised += 1
        return await super().backward(*asked)


async def test_after_a_publication_no_interaction_is_reasoned_twice(start_engine, monkeypatch):
    """It changes texts by their filter rules, and no cache keeps the older ones."""
    monkeypatch.setattr(Verdict, "published", True)
    reasoner = CountingMerges(EvolutionKind.MERGE)
    engine = await start_engine(
        STYLES[:3], 300, reasoner, taste=BankSettings(k=3), evolve_most=1, evolve_support=1
    )
    follow, changed = engine.evolution.publisher._follow_rules, []

    async def note_texts(change, undone):
        texts = await follow(change, undone)
        changed.extend(texts)
        return texts

    monkeypatch.setattr(engine.evolution.publisher, "_follow_rules", note_texts)
    assert (await engine.evolve()).published
    assert changed, "no client has a rule about a merged router: nothing is tested"
    before = reasoner.optimised
    await push(engine, draw_events(STYLES[:3], 60, seed=78))
    assert reasoner.optimised - before == 60


async def test_a_publication_that_is_begun_again_leaves_nobody_else_to_learn_between(
    start_engine, monkeypatch
):
    monkeypatch.setattr(Verdict, "published", True)
    engine = await start_engine(
        STYLES[:3], 200, Told(EvolutionKind.MERGE), taste=BankSettings(k=3), evolve_most=1
    )
    publish, begun = engine.store.publish_evolution, []

    async def refuse_once(*parts):
        begun.append(await engine.store.acquire_lease("learn", "another", 1_000))
        if len(begun) == 2:
            raise VersionClash("another process wrote a text")
        return await publish(*parts)

    map_of = engine.evolution.publisher._map

    async def begin_again(*given):
        begun.append(await engine.store.acquire_lease("learn", "another", 1_000))
        return await map_of(*given)

    monkeypatch.setattr(engine.store, "publish_evolution", refuse_once)
    monkeypatch.setattr(engine.evolution.publisher, "_map", begin_again)
    assert (await engine.evolve()).published
    assert begun == [None] * 4
    await assert_mass_as_written(engine)


@pytest.mark.slow
async def test_a_process_that_only_follows_tries_what_it_has_not_followed_yet(
    start_engine, monkeypatch
):
    monkeypatch.setattr(Verdict, "published", True)
    engine = await start_engine(
        STYLES[:3], 240, Told(EvolutionKind.MERGE), taste=BankSettings(k=3), evolve_most=1
    )
    merged = await engine.evolve()
    other = compose(
        Shared(engine.store),
        HashedEmbedder(engine.settings.seed),
        NumpyIndex(SqlitePoints(engine.store.database)),
        OfflineReasoner(),
        engine.settings,
        "other",
    )
    await other.open()
    await push(engine, draw_events(STYLES[:3], 120, seed=8, users=40))
    assert other.numbers.view.users < engine.numbers.view.users
    tried = await other.evolve(undo=merged.run, dry_run=True)
    assert len(tried.changes) == 1
    await engine.evolve(undo=merged.run)
    assert other.numbers.view.epoch < engine.numbers.view.epoch
    await other.evolve(dry_run=True)
    assert other.numbers.view.epoch == engine.numbers.view.epoch
    await other.close()


@pytest.mark.parametrize("kind", [EvolutionKind.SPLIT, EvolutionKind.MERGE, EvolutionKind.REWRITE])
async def test_undo_leads_back(start_engine, monkeypatch, kind):
    monkeypatch.setattr(Verdict, "published", True)
    engine = await start_engine(STYLES[:3], 200, Told(kind), taste=BankSettings(k=3), evolve_most=1)
    taste = engine.numbers.view.state.taste
    texts = {
        version.router: version.text for version in await engine.store.get_router_versions(range(3))
    }
    run = await engine.evolve()
    assert [change.kind for change in run.changes] == [kind], "the run makes one change"
    spoken = await engine.store.get_router_versions(engine.numbers.view.routers)
    assert {version.written_by for version in spoken if version.text == "a text"} == {"evolve@9"}, (
        "its texts name it"
    )
    trial = await engine.evolve(undo=run.run, dry_run=True)
    assert (trial.run, trial.undoes, len(trial.changes)) == (
        0,
        run.run,
        kind != EvolutionKind.REWRITE,
    ), "a dry run of the undo stores nothing"
    back = await engine.evolve(undo=run.run)
    assert (back.published, back.undoes) == (True, run.run), "the undo goes live"
    now = engine.numbers.view.state.taste
    assert engine.numbers.view.routers == [0, 1, 2], "the routers are those of before"
    assert now.total == pytest.approx(taste.total, rel=1e-4), "so are their totals"
    tolerance = (
        1e-5 if kind != EvolutionKind.MERGE else 0.2
    )  # start mass, .2 an item, is divided in proportion
    assert now.mass[:36] == pytest.approx(taste.mass[:36], abs=tolerance), "and their masses"
    assert {
        version.router: version.text for version in await engine.store.get_router_versions(range(3))
    } == texts, "and their texts"
    await push(engine, draw_events(STYLES[:3], 40, seed=4))
    await assert_mass_as_written(engine)


@pytest.mark.slow
async def test_what_was_written_since_a_merge_goes_to_its_users_earlier_router(
    start_engine, monkeypatch
):
    monkeypatch.setattr(Verdict, "published", True)
    engine = await start_engine(
        STYLES[:3], 240, Told(EvolutionKind.MERGE), taste=BankSettings(k=3), evolve_most=1
    )
    merged = await engine.evolve()
    await push(engine, draw_events(STYLES[:3], 120, seed=8))
    await engine.evolve(undo=merged.run)
    assert engine.numbers.view.routers == [0, 1, 2]
    await assert_mass_as_written(engine)


@pytest.mark.slow
async def test_an_undo_counts_what_was_written_while_an_earlier_undone_run_stood(
    start_engine, monkeypatch
):
    monkeypatch.setattr(Verdict, "published", True)
    told = Told(EvolutionKind.SPLIT)
    engine = await start_engine(STYLES[:3], 240, told, taste=BankSettings(k=3), evolve_most=1)
    split = await engine.evolve()
    await push(engine, draw_events(STYLES[:3], 120, seed=8))
    await engine.evolve(undo=split.run)
    told.decide = EvolutionKind.MERGE
    await push(engine, draw_events(STYLES[:3], 120, seed=9))
    merged = await engine.evolve()
    assert set(split.changes[0].before) <= set(merged.changes[0].before)
    await engine.evolve(undo=merged.run)
    await assert_mass_as_written(engine)


@pytest.mark.slow
async def test_only_the_last_standing_run_can_be_undone(start_engine, monkeypatch):
    monkeypatch.setattr(Verdict, "published", True)
    engine = await start_engine(STYLES[:3], 200, Told(EvolutionKind.REWRITE))
    first = await engine.evolve()
    await push(engine, draw_events(STYLES[:3], 240, seed=3))
    second = await engine.evolve()
    with pytest.raises(InvalidInput, match=f"undo run {second.run} first"):
        await engine.evolve(undo=first.run)
    with pytest.raises(InvalidInput, match="is 99"):
        await engine.evolve(undo=99)
    await engine.evolve(undo=second.run)
    with pytest.raises(InvalidInput, match="is undone"):
        await engine.evolve(undo=second.run)
    assert (await engine.evolve(undo=first.run)).published


@pytest.mark.slow
async def test_before_every_nth_round_where_the_setting_says_so(start_engine):
    engine = await start_engine(STYLES[:3], 200, evolve_every_rounds=2)
    runs = await engine.store.get_evolution_runs(100)
    rounds = (await engine.store.get_last_round()).number
    assert 2 <= len(runs) <= rounds / 2
    assert all(newer.round - older.round >= 2 for newer, older in pairwise(runs))


async def test_a_reasoner_reads_no_gradient_of_what_one_reader_alone_chose(start_engine):
    cases = []
    engine = await start_engine(reasoner=Told(lambda case: cases.append(case)), events=60)
    secret = ClientChange(
        key=ClientKey(kind=ClientKind.ITEM, id="only"), title="The Quux Tapes", categories=("zonk",)
    )
    await engine.upsert_clients([secret])
    alone = [
        NewInteraction(
            event_id=f"alone-{n}",
            user_id=f"{STYLES[0]}-1",
            item_id=("only", f"{STYLES[0]}{n}")[n % 2],
            time=n,
            content_hash=str(n),
        )
        for n in range(20)
    ]
    await push(engine, alone, step=2)
    await push(engine, draw_events(STYLES[:2], 80, seed=2))  # the newest 60 are for the judge
    await engine.evolve()
    written = await engine.store.get_gradients(Module.ROUTER, None, 0, 2_000)
    assert any("zonk" in str(one).casefold() for one in written), "the reader's own gradients"
    shown = [one for case in cases for one in case.gradients]
    assert shown
    assert not any("zonk" in str(one).casefold() for one in shown)
    (only,) = await engine.store.find_refs([secret.key])
    rows = await engine.store.get_interactions_of_clients([only])
    found = RouterGradients()
    for writer, text in enumerate(("One chose “Quux Tapes, The”.", "They chose jazz.")):
        found.add(Gradient(rows[0].sequence, Module.ROUTER, 0, writer, 1, text, ("jazz",)))
    adoptions = engine.numbers.view.state.adoptions
    shown = await list_supported_gradients(engine.store, found, adoptions, 2)
    left = [one.text for one in shown]
    assert left == ["They chose jazz."], "a title that one reader chose"
