"""Retries, dead letters and their replay, and concurrent writers."""

import sqlite3
from contextlib import closing
from dataclasses import replace

import pytest

from propagation.adapters.numpy.index import NumpyIndex
from propagation.adapters.offline.embedder import HashedEmbedder
from propagation.adapters.offline.reasoner import OfflineReasoner
from propagation.adapters.sqlite.index.points import SqlitePoints
from propagation.adapters.sqlite.store import SqliteStore
from propagation.model import (
    AddLine,
    Author,
    ClientChange,
    ClientKey,
    ClientKind,
    DropLine,
    LeaseLost,
    Line,
    NewInteraction,
    PromptCost,
    ReasonerFailed,
    Usage,
)
from propagation.ports import Collection, OptimizeAnswer, VersionClash
from propagation.workflow.compose import compose
from propagation.workflow.index import maintenance
from propagation.workflow.index.text_cache import LruCache
from propagation.workflow.index.vector_sync import LineVectors
from propagation.workflow.reason import cold_start, description_queue
from propagation.workflow.reason.cold_start import ColdStart
from propagation.workflow.settings import BankSettings, WorkflowSettings
from services.runtime.process import SystemClock


class Flaky(OfflineReasoner):
    """Fails as a test says.

    Attributes:
        failures: How often to fail on an item before answering, by title.
        strange: Titles of items for which the answer drops an unknown line.
        mute: Whether every extraction fails.
        stand_ins: Titles of items for which the catalogue's lines stand in for a model's.
    """

    def __init__(self):
        super().__init__()
        self.failures = {}
        self.strange = set()
        self.mute = False
        self.stand_ins = set()

    async def extract(self, clients):
        if self.mute:
            raise ReasonerFailed("the model timed out")
        answer = await super().extract(clients)
        if not self.stand_ins:
            return answer
        usage = Usage((("extract@2", PromptCost(calls=1)),))
        refs = frozenset(one.ref for one in clients if one.title in self.stand_ins)
        return replace(answer, usage=usage, from_catalogue=refs)

    async def optimize(self, work, reward, party, other):
        title = other.client.title
        if self.failures.get(title, 0) > 0:
            self.failures[title] -= 1
            raise ReasonerFailed("the model timed out")
        if title in self.strange:
            return OptimizeAnswer(edits=[DropLine(id=999)])
        return await super().optimize(work, reward, party, other)


def events(*items, user="ann"):
    return [
        NewInteraction(
            event_id=f"{user}-{name}", user_id=user, item_id=name, time=0, content_hash=name
        )
        for name in items
    ]


@pytest.fixture
async def engine(tmp_path):
    settings = WorkflowSettings(
        session=BankSettings(k=4),
        taste=BankSettings(k=4),
        table_edges=2,
        auto_create=True,
        reason_backoff=0,
        update_size=1_000,
    )
    store = SqliteStore(tmp_path / "graph.db", SystemClock())
    made = compose(
        store,
        HashedEmbedder(settings.seed),
        NumpyIndex(SqlitePoints(store.database)),
        Flaky(),
        settings,
        "test",
    )
    await made.open()
    await made.upsert_clients(
        [
            ClientChange(
                key=ClientKey(kind=ClientKind.ITEM, id=name), title=name, categories=(style,)
            )
            for name, style in (
                ("Aida", "opera"),
                ("Blue", "jazz"),
                ("Coda", "folk"),
                ("Dusk", "dub"),
            )
        ]
    )
    yield made
    await made.close()


async def read_profile(engine, user="ann"):
    [ref] = await engine.store.find_refs([ClientKey(kind=ClientKind.USER, id=user)])
    return (await engine.store.load_texts([ref]))[ref].profile


async def test_a_failure_that_passes_leaves_no_trace(engine):
    engine.reasoner.failures["Aida"] = 2
    await engine.record(events("Aida"))
    await engine.drain()
    assert await engine.store.get_dead_letters(10) == []
    assert "opera" in (await read_profile(engine)).attributes


async def test_a_lasting_failure_is_a_dead_letter_and_blocks_nobody(engine):
    engine.reasoner.failures["Aida"] = 100
    await engine.record(events("Aida", "Blue"))
    await engine.drain()
    [(sequence, reason)] = await engine.store.get_dead_letters(10)
    assert reason == "the model timed out"
    assert (await read_profile(engine)).attributes == {"jazz"}
    assert await engine.store.get_reasoned_through() > sequence


async def test_an_edit_of_a_line_that_is_not_there_is_a_failure_not_an_answer(engine):
    engine.reasoner.strange.add("Aida")
    await engine.record(events("Aida"))
    await engine.drain()
    [(_, reason)] = await engine.store.get_dead_letters(10)
    assert "line 999 is gone" in reason


async def test_a_replayed_dead_letter_edits_the_current_version_and_is_marked_late(engine):
    engine.reasoner.failures["Aida"] = 3
    await engine.record(events("Aida", "Blue"))
    await engine.record(events("Coda", user="bob"))
    await engine.drain()
    before = await read_profile(engine)
    assert await engine.retry_dead_letters(None) == (1, 0)
    after = await read_profile(engine)
    assert after.version > before.version
    assert after.attributes == {"jazz", "opera"}
    assert await engine.store.get_dead_letters(10) == []
    assert await engine.retry_dead_letters(None) == (0, 0)
    recorded = await engine.store.get_recorded_through()
    assert (await engine.store.get_text_at(after.ref, recorded - 1)).profile == before, (
        "its texts belong to now"
    )


async def test_a_dead_letter_that_fails_again_stays_one_with_its_newest_reason(engine):
    engine.reasoner.failures["Aida"] = 3
    await engine.record(events("Aida"))
    await engine.drain()
    engine.reasoner.strange.add("Aida")
    assert await engine.retry_dead_letters(None) == (0, 1)
    [letter] = await engine.store.get_failed_reasoning(10)
    assert "line 999" in letter.reason
    assert letter.attempts == 6, "three tries, and three at the replay"


async def test_only_the_named_dead_letters_are_tried_again(engine):
    engine.reasoner.failures.update({"Aida": 3, "Blue": 3})
    await engine.record(events("Aida", "Blue"))
    await engine.drain()
    first, second = [one.sequence for one in await engine.store.get_dead_letters(10)]
    assert await engine.retry_dead_letters([second]) == (1, 0)
    assert [one.sequence for one in await engine.store.get_dead_letters(10)] == [first]


async def write_beside(engine, text):
    """Add a line to a client's text, as another process would."""
    beside = text.profile.apply_edits(
        [AddLine(line=Line(id=0, text="Written elsewhere.", weight=9.0))], 12
    )
    await engine.store.commit_texts(
        [replace(text, profile=beside)], [], await engine.store.get_recorded_through()
    )


async def test_where_two_wrote_the_later_is_redone_on_the_newer_version(engine):
    await engine.record(events("Aida"))
    await engine.drain()
    ref = (await read_profile(engine)).ref
    await write_beside(engine, (await engine.store.load_texts([ref]))[ref])
    await engine.record(events("Blue"))
    await engine.drain()
    assert "Written elsewhere." in str((await read_profile(engine)).lines)
    assert (await read_profile(engine)).attributes == {"opera", "jazz"}


async def test_a_writer_that_loses_every_time_gives_up_after_five(engine, monkeypatch):
    tried = []

    async def raise_clash(claim, reasoned, *, more=False):
        tried.append(len(reasoned))
        raise VersionClash(0)

    monkeypatch.setattr(engine.store, "commit_reasoned", raise_clash)
    await engine.record(events("Aida"))
    await engine.learn()
    with pytest.raises(VersionClash):
        await engine.reason()
    assert tried == [1, 1, 1, 1, 1, 0]  # the last commit returns the claim


def record_commits(engine, monkeypatch, before):
    """Note every commit of reasoned work, and run `before` ahead of each.

    Returns:
        A list of (number of interactions, whether more follow), filled by later commits.
    """
    commit, made = engine.store.commit_reasoned, []

    async def note_and_commit(claim, reasoned, *, more=False):
        made.append((len(reasoned), more))
        await before(len(made))
        await commit(claim, reasoned, more=more)

    monkeypatch.setattr(engine.store, "commit_reasoned", note_and_commit)
    return made


async def do_nothing(place):
    return None


async def test_a_claim_is_committed_in_parts_and_every_part_stands_on_the_one_before(
    engine, monkeypatch
):
    engine.reasoning.drafting.least = 2
    made = record_commits(engine, monkeypatch, do_nothing)
    await engine.record(events("Aida", "Blue", "Coda", "Dusk") + events("Aida", user="bob"))
    await engine.drain()
    assert [more for _, more in made] == [True] * (len(made) - 1) + [False]
    assert len(made) > 1
    assert sum(count for count, _ in made) == 5
    assert (await read_profile(engine)).attributes == {"opera", "jazz", "folk", "dub"}


async def test_where_a_later_part_clashes_the_earlier_ones_stay_and_the_rest_is_redone(
    engine, monkeypatch
):
    await engine.record(events("Aida"))
    await engine.drain()
    ref = (await read_profile(engine)).ref
    engine.reasoning.drafting.least = 1

    async def write_as_another(place):
        if place == 2:
            await write_beside(engine, (await engine.store.load_texts([ref]))[ref])

    made = record_commits(engine, monkeypatch, write_as_another)
    await engine.record(events("Blue", "Coda", "Dusk"))
    await engine.drain()
    assert len(made) > 3, "one of them was in vain"
    profile = await read_profile(engine)
    assert "Written elsewhere." in str(profile.lines)
    assert profile.attributes == {"opera", "jazz", "folk", "dub"}
    assert engine.vectors.has_version(ref, profile.version)


async def test_texts_of_a_commit_that_failed_are_not_shown(engine, monkeypatch):
    async def raise_lost(place):
        raise LeaseLost("taken over")

    record_commits(engine, monkeypatch, raise_lost)
    await engine.record(events("Aida", "Blue"))
    await engine.learn()
    with pytest.raises(LeaseLost):
        await engine.reason()
    [ref] = await engine.store.find_refs([ClientKey(kind=ClientKind.USER, id="ann")])
    assert not engine.vectors.has_version(ref, 1)
    assert ref not in await engine.index.get_versions(Collection.USERS)


async def test_what_is_left_of_a_claim_that_was_taken_over_midway_is_free(engine, monkeypatch):
    engine.reasoning.drafting.least = 1

    async def raise_lost(place):
        if place == 2:
            raise LeaseLost("taken over")

    record_commits(engine, monkeypatch, raise_lost)
    await engine.record(events("Aida", "Blue", "Coda"))
    await engine.learn()
    with pytest.raises(LeaseLost):
        await engine.reason()
    assert (await read_profile(engine)).attributes == {"opera"}
    await engine.drain()
    assert (await read_profile(engine)).attributes == {"opera", "jazz", "folk"}


def test_the_cache_of_texts_is_bounded_and_forgets_what_was_used_least_recently():
    recent = LruCache(2)
    recent.put("a", 1)
    recent.put("b", 2)
    assert recent.find(["a"]) == {"a": 1}
    recent.put("c", 3)
    assert recent.find(["a", "b", "c"]) == {"a": 1, "c": 3}
    recent.forget(["a"])
    assert recent.find(["a", "c"]) == {"c": 3}


def test_a_cache_can_be_bounded_by_what_its_values_weigh():
    recent = LruCache(10, len)
    recent.put("a", "four")
    recent.put("b", "four")
    recent.put("a", "as many")
    assert recent.find(["a", "b"]) == {"a": "as many"}, (
        "the heavier one leaves no room for the other"
    )
    recent.put("c", "abc")
    assert recent.find(["a", "c"]) == {"a": "as many", "c": "abc"}
    recent.forget(["a"])
    recent.put("d", "sevens!")
    assert recent.find(["c", "d"]) == {"c": "abc", "d": "sevens!"}, (
        "what was forgotten weighs nothing"
    )
    recent.put("e", "more than all of it together")
    assert recent.find(["c", "d", "e"]) == {"e": "more than all of it together"}


async def change_title(engine, name, **fields):
    """Change the item in the catalogue.

    Returns:
        (texts of its catalogue lines, number of all its lines).
    """
    await engine.upsert_clients(
        [ClientChange(key=ClientKey(kind=ClientKind.ITEM, id=name), **fields)]
    )
    await engine.drain()
    [ref] = await engine.store.find_refs([ClientKey(kind=ClientKind.ITEM, id=name)])
    lines = (await engine.store.load_texts([ref]))[ref].profile.lines
    return [line.text for line in lines if line.author is Author.CATALOGUE], len(lines)


async def test_catalogue_lines_follow_the_catalogue_and_other_lines_stay(engine):
    await engine.record(events("Blue"))
    await engine.drain()
    before, lines = await change_title(engine, "Blue", title="Blue")
    assert "Blue" in before[0]
    after, then = await change_title(engine, "Blue", title="Kind of Green")
    assert "Kind of Green" in after[0]
    assert not any("“Blue”" in text for text in after)
    assert then == lines
    assert await change_title(engine, "Blue", title="", categories=()) == ([], lines - len(after))


async def test_clients_without_text_keep_nobody_behind_them_from_being_described(
    engine, monkeypatch
):
    monkeypatch.setattr(cold_start, "CLIENTS_A_STEP", 1)
    await engine.drain()
    for name in ("quiet", "silent"):
        await engine.upsert_clients([ClientChange(key=ClientKey(kind=ClientKind.USER, id=name))])
    await engine.upsert_clients(
        [ClientChange(key=ClientKey(kind=ClientKind.ITEM, id="Green"), title="Kind of Green")]
    )
    await engine.learn()
    assert await engine.reason(0) == 1
    assert engine.cold_start.get_described_through(1_000) == 1_000, (
        "no client waits to be described"
    )


async def test_a_change_that_the_reasoner_failed_on_is_described_in_the_end_even_after_a_restart(
    engine, monkeypatch
):
    monkeypatch.setattr(description_queue, "RETRY_SECONDS", 0.0)
    await engine.drain()
    engine.reasoner.mute = True
    before, _ = await change_title(engine, "Blue", title="Kind of Green")
    assert "“Blue”" in before[0]
    again = ColdStart(
        engine.store,
        engine.reasoner,
        engine.rounds.policy,
        engine.vectors,
        engine.reasoning.drafting,
        engine.settings,
        engine.leases,
    )
    await again.queue.open(await engine.store.get_learned_through())
    assert await again.describe() == 0
    engine.reasoner.mute = False
    assert await again.describe() == 1
    [ref] = await engine.store.find_refs([ClientKey(kind=ClientKind.ITEM, id="Blue")])
    assert "Kind of Green" in str((await engine.store.load_texts([ref]))[ref].profile.lines)
    assert await again.describe() == 0


async def test_an_index_that_lagged_is_mended_without_a_restart(engine, monkeypatch):
    async def raise_refused(texts):
        raise OSError("the embedder does not answer")

    await engine.record(events("Aida", "Blue"))
    await engine.learn()
    await engine.reason(0)
    with monkeypatch.context() as broken:
        broken.setattr(LineVectors, "embed", lambda self, texts: raise_refused(texts))
        assert await engine.reasoning.step() == 2, "reasoning goes on"
        assert (await read_profile(engine)).version > 0, "the texts are committed"
        assert await engine.update_index() == 0, "whoever committed may still be at it"
        monkeypatch.setattr(maintenance, "MIN_AGE_MS", 0)
        with pytest.raises(OSError, match="does not answer"):
            await engine.update_index()
    assert await engine.store.count_changes() > 0, "what the index lacks is in the outbox"
    assert await engine.update_index() > 0, "it is written later"
    assert await engine.store.count_changes() == 0, "then the outbox is empty"
    assert await engine.index_maintenance.repair() == 0, "and the index equals the graph"
    assert await engine.reason() == 0, "no work is left"
    await engine.record(events("Coda"))
    await engine.drain()
    assert await engine.store.get_dead_letters(1) == [], "no event failed"


async def test_lines_that_stand_in_for_a_model_s_are_recorded_as_the_catalogue_s(engine):
    engine.reasoner.stand_ins.add("Aida")
    await engine.drain()
    with closing(sqlite3.connect(engine.store.database.path)) as connection:
        rows = connection.execute("SELECT ref, written_by FROM profile_version").fetchall()
    clients = await engine.store.get_clients([ref for ref, _ in rows])
    titles = {client.ref: client.title for client in clients}
    assert {titles[ref]: author for ref, author in rows} == {
        "Aida": "catalogue",
        "Blue": "extract@2",
        "Coda": "extract@2",
        "Dusk": "extract@2",
    }


async def test_what_a_model_described_is_committed_as_it_comes(engine, monkeypatch):
    """A catalogue may take a small model hours; what was paid for is seen, and not asked again."""
    await engine.drain()
    monkeypatch.setattr(type(engine.reasoner), "clients_a_call", 2)
    monkeypatch.setattr(type(engine.reasoner), "asks_model", True)
    seen, stopped = [], []
    extract = engine.reasoner.extract

    async def note(clients):
        seen.append(([one.title for one in clients], engine.cold_start.outstanding))
        if len(seen) == 2 and not stopped:
            stopped.append(True)
            raise LeaseLost("describe")
        return await extract(clients)

    monkeypatch.setattr(engine.reasoner, "extract", note)
    names = ("Echo", "Fado", "Gigue", "Hora", "Icon")
    keys = [ClientKey(kind=ClientKind.ITEM, id=name) for name in names]
    await engine.upsert_clients([ClientChange(key=key, title=key.id) for key in keys])
    with pytest.raises(LeaseLost):
        await engine.drain()
    assert seen == [(["Echo", "Fado"], 5), (["Gigue", "Hora"], 3)]
    refs = await engine.store.find_refs(keys)
    texts = await engine.store.load_texts(refs)
    assert [texts[ref].profile.version for ref in refs] == [1, 1, 0, 0, 0], "two are stored"
    assert engine.cold_start.seconds_left > 0
    await engine.drain()
    texts = await engine.store.load_texts(refs)
    assert [texts[ref].profile.version for ref in refs] == [1] * 5
    assert engine.cold_start.outstanding == 0
    assert not engine.cold_start.seconds_left
