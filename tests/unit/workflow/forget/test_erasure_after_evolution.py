"""Forgetting a user whose events lie before, between and after evolutions and an undo."""

from contextlib import asynccontextmanager

import pytest

from propagation.adapters.offline.reasoner import OfflineReasoner
from propagation.model import (
    ClientChange,
    ClientKind,
    EvolutionKind,
    ReasonerFailed,
    RouterDecision,
    get_kind,
    join_names,
)
from propagation.optimization.holdout_judge import Verdict
from propagation.workflow.learn.rebuild import rebuild_view
from tests.unit.workflow.forget.test_lone_preference import (
    LONER,
    ONLY,
    SECRET,
    TITLE,
    all_messages,
    all_texts,
    choose,
    find,
)
from tests.unit.workflow.forget.test_never_saw import differing, holders, numbers_of
from tests.unit.workflow.learn.comparison import differing_arrays
from tests.unit.workflow.small_database import (
    begun,
    engine_on,
    event,
    item_key,
    left_in,
    left_in_graph,
    left_in_rows,
    live,
    user_key,
)

pytestmark = pytest.mark.slow

OWN_NAME, OWN_TITLE = "zugwang", "Countess Oblomova"
EVOLVING = {"evolve_support": 1, "evolve_most": 2, "holdout": 12}


async def quote_all(_, case):
    """Decide like a model that quotes all that it was shown."""
    kind = (
        EvolutionKind.SPLIT
        if case.halves is not None
        else EvolutionKind.MERGE
        if case.nearest is not None
        else EvolutionKind.REWRITE
    )
    names = [*case.choices, *dict(case.router.standing)]
    said = f"They chose {join_names(names)}. {case.router.text}"
    reason = " ".join([said, *(gradient.text for gradient in case.gradients)])
    texts = ((join_names(names[:2]), said),) * (2 if kind == EvolutionKind.SPLIT else 1)
    return RouterDecision(kind, reason, texts, "evolve@9")


@pytest.fixture(autouse=True)
def published(monkeypatch):
    """Let every plan go live, with words of a model that quotes."""
    monkeypatch.setattr(Verdict, "published", True)
    monkeypatch.setattr(OfflineReasoner, "decide_router", quote_all)


@asynccontextmanager
async def service(folder, support, store="sqlite"):
    """Open a service with a user, the loner, whose own text has a word that nobody else has."""
    folder.mkdir(exist_ok=True)
    async with begun(engine_on(folder, store, min_support=support, **EVOLVING)) as engine:
        await engine.upsert_clients(
            [
                ClientChange(key=item_key(ONLY), title=TITLE, attributes=(SECRET,)),
                ClientChange(key=user_key(LONER), title=OWN_TITLE, attributes=(OWN_NAME,)),
            ]
        )
        await engine.drain()
        await engine.init()
        yield engine


async def live_through(engine, users):
    """Evolve twice, undo the second one, and go on; the users choose in each part."""
    run = None
    for part in range(4):
        await live(engine, part + 1, 90)
        await choose(engine, 9_000 + 100 * part, users, [ONLY, part, ONLY])
        if part < 3:
            run = await engine.evolve(undo=run.run if part == 2 else None)
            assert run.published
        await engine.run_round()


async def traces(engine, folder, store, words):
    """List the words that the file's bytes or rows hold, or the graph."""
    if store == "neo4j":
        return left_in_graph(folder, words)
    return left_in(folder, words) + await left_in_rows(engine, words)


async def naming(engine, *words):
    """List what others read that has one of the words: no own text, and no choice of a user."""
    (gone, item) = await find(engine, user_key(LONER)), await find(engine, item_key(ONLY))
    said = [
        str((one.name, one.text, one.attributes, one.standing))
        for one in await all_messages(engine)
    ]
    said += [str(run.changes) for run in await engine.store.get_evolution_runs(99)]
    said += [str(letter) for letter in await engine.store.get_dead_letters(99)]
    users = {
        ref for ref in await all_texts(engine) if get_kind(ref) == ClientKind.USER and ref != gone
    }
    said += [
        f"{ref}: {line.text} {line.attributes}"
        for ref, text in (await all_texts(engine)).items()
        if ref != item and ref not in users
        for line in text.profile.lines
    ]
    return [one for one in said if any(word in one for word in words)]


async def assert_sound(engine):
    assert await engine.store.check() == []
    view = await rebuild_view(engine.store, engine.embedder, engine.data.create_first_view())
    assert differing_arrays(view.state, engine.numbers.view.state) == []
    assert await engine.index_maintenance.repair() == 0


@pytest.mark.parametrize(
    ("store", "support", "friends"),
    [
        ("sqlite", 1, 0),
        ("sqlite", 2, 0),
        ("sqlite", 2, 1),
        ("sqlite", 5, 4),
        pytest.param("neo4j", 2, 1, marks=pytest.mark.neo4j),
    ],
)
async def test_no_byte_names_a_user_of_several_epochs(tmp_path, store, support, friends):
    users = [LONER + n for n in range(1 + friends)]
    async with service(tmp_path, support, store) as engine:
        await live_through(engine, users)
        if friends:
            assert await naming(engine, SECRET)
        ref = await find(engine, user_key(LONER))
        mine = [row.event_id for row in await engine.store.get_interactions_of_clients([ref])]
        words = [user_key(LONER).id, OWN_TITLE, OWN_NAME, *mine]
        if store == "sqlite":  # to read a whole graph takes minutes
            assert await traces(engine, tmp_path, store, words)
        await engine.forget(user_key(LONER), wipe=True)
        assert await traces(engine, tmp_path, store, words) == []
        if support > 1:
            assert await naming(engine, SECRET, TITLE) == []
        await assert_sound(engine)
        await live(engine, 9, 30)
        await engine.evolve()
        assert await naming(engine, OWN_NAME, OWN_TITLE) == []
        if support > 1:
            assert await naming(engine, SECRET, TITLE) == []


@pytest.mark.parametrize("retracted_first", [True, False])
async def test_the_numbers_are_those_of_a_service_that_never_saw_it(tmp_path, retracted_first):
    async with service(tmp_path / "saw", 2) as saw, service(tmp_path / "never", 2) as never:
        await live_through(saw, [LONER])
        await live_through(never, [])
        if retracted_first:
            ref = await find(saw, user_key(LONER))
            rows = await saw.store.get_interactions_of_clients([ref])
            await saw.retract([row.event_id for row in rows])
            for engine in (saw, never):
                await live(engine, 8, 30)
                await engine.evolve()
        for engine in (saw, never):
            await engine.forget(user_key(LONER))
        one, other = numbers_of(saw), numbers_of(never)
        assert differing(one, other, one) == []
        assert await holders(saw) == await holders(never)
        await assert_sound(saw)


async def test_reasons_of_others_dead_letters_lose_the_words(tmp_path, monkeypatch):
    """A failure may quote the model's answer, and that the profile that the model was shown."""
    optimize = OfflineReasoner.optimize

    async def fail_with_a_quote(self, work, reward, party, other):
        if other.client.key == item_key(5):
            texts = (line.text for line in (*party.profile.lines, *other.profile.lines))
            raise ReasonerFailed(f"no JSON: {OWN_NAME.upper()} {SECRET} {TITLE} {' '.join(texts)}")
        return await optimize(self, work, reward, party, other)

    async with service(tmp_path, 2) as engine:
        await live(engine, 1, 30)
        await choose(engine, 9_000, [LONER, LONER + 1], [ONLY, 0, ONLY])
        monkeypatch.setattr(OfflineReasoner, "optimize", fail_with_a_quote)
        await engine.record([event(9_500, 2, 5), event(9_501, 3, 5)])
        await engine.drain()
        assert len(await engine.store.get_dead_letters(9)) >= 2
        await engine.forget(user_key(LONER), wipe=True)
        letters = str(await engine.store.get_dead_letters(9)).casefold()
        assert [one for one in (OWN_NAME, SECRET, TITLE.casefold()) if one in letters] == []
