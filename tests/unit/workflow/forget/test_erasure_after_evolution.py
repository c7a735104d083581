"""Forgetting a user with events before, between and after evolutions."""

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
from tests.unit.workflow.forget.test_lone_preference import (
    LONER,
    ONLY,
    SECRET,
    TITLE,
    choose,
    find_ref,
    read_all_messages,
)
from tests.unit.workflow.forget.test_never_saw import list_differing, read_holders, read_numbers
from tests.unit.workflow.small_database import (
    assert_sound,
    event,
    find_in_files,
    find_in_graph,
    find_in_rows,
    item_key,
    make_engine,
    open_engine,
    read_texts,
    record_history,
    user_key,
)

pytestmark = pytest.mark.slow

OWN_NAME, OWN_TITLE = "zugwang", "Countess Oblomova"
EVOLVING = {"evolve_support": 1, "evolve_most": 2, "holdout": 12}


async def quote_all(_, case):
    """Decide like a model that quotes everything in its prompt."""
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
def quoting_model(monkeypatch):
    """Publish every plan, in words that a model quotes from its prompt."""
    monkeypatch.setattr(Verdict, "published", True)
    monkeypatch.setattr(OfflineReasoner, "decide_router", quote_all)


@asynccontextmanager
async def open_service(folder, support, store="sqlite"):
    """Open a service with a user whose text has a unique word."""
    folder.mkdir(exist_ok=True)
    async with open_engine(make_engine(folder, store, min_support=support, **EVOLVING)) as engine:
        await engine.upsert_clients(
            [
                ClientChange(key=item_key(ONLY), title=TITLE, attributes=(SECRET,)),
                ClientChange(key=user_key(LONER), title=OWN_TITLE, attributes=(OWN_NAME,)),
            ]
        )
        await engine.drain()
        await engine.init()
        yield engine


async def evolve_twice(engine, users):
    """Evolve twice, undo the second evolution, and go on.

    Before each evolution, and at the end, the users choose items.
    """
    run = None
    for part in range(4):
        await record_history(engine, part + 1, 90)
        await choose(engine, 9_000 + 100 * part, users, [ONLY, part, ONLY])
        if part < 3:
            run = await engine.evolve(undo=run.run if part == 2 else None)
            assert run.published
        await engine.run_round()


async def find_traces(engine, folder, store, words):
    """List the words that are left in the file or in Neo4j."""
    if store == "neo4j":
        return find_in_graph(folder, words)
    return find_in_files(folder, words) + await find_in_rows(engine, words)


async def find_names(engine, *words):
    """List the texts with one of the words that others can read.

    These are messages, runs, dead letters and profiles, except for those of the secret item and of
    other users.
    """
    (gone, item) = await find_ref(engine, user_key(LONER)), await find_ref(engine, item_key(ONLY))
    said = [
        str((one.name, one.text, one.attributes, one.standing))
        for one in await read_all_messages(engine)
    ]
    said += [str(run.changes) for run in await engine.store.get_evolution_runs(99)]
    said += [str(letter) for letter in await engine.store.get_dead_letters(99)]
    users = {
        ref for ref in await read_texts(engine) if get_kind(ref) == ClientKind.USER and ref != gone
    }
    said += [
        f"{ref}: {line.text} {line.attributes}"
        for ref, text in (await read_texts(engine)).items()
        if ref != item and ref not in users
        for line in text.profile.lines
    ]
    return [one for one in said if any(word in one for word in words)]


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
    async with open_service(tmp_path, support, store) as engine:
        await evolve_twice(engine, users)
        if friends:
            assert await find_names(engine, SECRET)
        ref = await find_ref(engine, user_key(LONER))
        mine = [row.event_id for row in await engine.store.get_interactions_of_clients([ref])]
        words = [user_key(LONER).id, OWN_TITLE, OWN_NAME, *mine]
        if store == "sqlite":  # on Neo4j the whole graph is read only after the erasure
            assert await find_traces(engine, tmp_path, store, words)
        await engine.forget(user_key(LONER), wipe=True)
        assert await find_traces(engine, tmp_path, store, words) == []
        if support > 1:
            assert await find_names(engine, SECRET, TITLE) == []
        await assert_sound(engine)
        await record_history(engine, 9, 30)
        await engine.evolve()
        assert await find_names(engine, OWN_NAME, OWN_TITLE) == []
        if support > 1:
            assert await find_names(engine, SECRET, TITLE) == []


@pytest.mark.parametrize("retracted_first", [True, False])
async def test_the_numbers_are_those_of_a_service_that_never_saw_it(tmp_path, retracted_first):
    async with (
        open_service(tmp_path / "saw", 2) as saw,
        open_service(tmp_path / "never", 2) as never,
    ):
        await evolve_twice(saw, [LONER])
        await evolve_twice(never, [])
        if retracted_first:
            ref = await find_ref(saw, user_key(LONER))
            rows = await saw.store.get_interactions_of_clients([ref])
            await saw.retract([row.event_id for row in rows])
            for engine in (saw, never):
                await record_history(engine, 8, 30)
                await engine.evolve()
        for engine in (saw, never):
            await engine.forget(user_key(LONER))
        one, other = read_numbers(saw), read_numbers(never)
        assert list_differing(one, other, one) == []
        assert await read_holders(saw) == await read_holders(never)
        await assert_sound(saw)


async def test_reasons_of_others_dead_letters_lose_the_words(tmp_path, monkeypatch):
    """A failure may quote the model's answer, which may quote a profile."""
    optimize = OfflineReasoner.optimize

    async def fail_with_a_quote(self, work, reward, party, other):
        if other.client.key == item_key(5):
            texts = (line.text for line in (*party.profile.lines, *other.profile.lines))
            raise ReasonerFailed(f"no JSON: {OWN_NAME.upper()} {SECRET} {TITLE} {' '.join(texts)}")
        return await optimize(self, work, reward, party, other)

    async with open_service(tmp_path, 2) as engine:
        await record_history(engine, 1, 30)
        await choose(engine, 9_000, [LONER, LONER + 1], [ONLY, 0, ONLY])
        monkeypatch.setattr(OfflineReasoner, "optimize", fail_with_a_quote)
        await engine.record([event(9_500, 2, 5), event(9_501, 3, 5)])
        await engine.drain()
        assert len(await engine.store.get_dead_letters(9)) >= 2
        await engine.forget(user_key(LONER), wipe=True)
        letters = str(await engine.store.get_dead_letters(9)).casefold()
        assert [one for one in (OWN_NAME, SECRET, TITLE.casefold()) if one in letters] == []
