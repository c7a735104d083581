"""A path shows each profile as it was at that step."""

from dataclasses import replace

import pytest

from propagation.adapters.numpy.index import NumpyIndex
from propagation.adapters.offline.embedder import HashedEmbedder
from propagation.adapters.offline.reasoner import OfflineReasoner
from propagation.adapters.sqlite.index.points import SqlitePoints
from propagation.adapters.sqlite.store import SqliteStore
from propagation.model import (
    ClientChange,
    ClientKey,
    ClientKind,
    ClientText,
    DropLine,
    NewInteraction,
    ReplaceLine,
)
from propagation.workflow.compose import compose
from propagation.workflow.history.trace import AttributeHop, ProfileHop
from propagation.workflow.settings import BankSettings, WorkflowSettings
from services.runtime.process import SystemClock


@pytest.fixture
async def engine(tmp_path):
    settings = WorkflowSettings(
        session=BankSettings(k=4),
        taste=BankSettings(k=4),
        table_edges=4,
        auto_create=True,
        min_support=1,
        update_size=1_000,
    )
    store = SqliteStore(tmp_path / "graph.db", SystemClock())
    made = compose(
        store,
        HashedEmbedder(settings.seed),
        NumpyIndex(SqlitePoints(store.database)),
        OfflineReasoner(),
        settings,
        "t",
    )
    await made.open()
    await made.upsert_clients(
        [
            ClientChange(
                key=ClientKey(kind=ClientKind.ITEM, id=name), title=name, categories=(style,)
            )
            for name, style in (("Aida", "opera"), ("Blue", "jazz"), ("Coda", "opera"))
        ]
    )
    await push(made, "ann", "Blue")
    await push(made, "bob", "Blue")
    yield made
    await made.close()


async def push(engine, user, *items):
    await engine.record(
        [
            NewInteraction(
                event_id=f"{user}-{name}", user_id=user, item_id=name, time=0, content_hash=name
            )
            for name in items
        ]
    )
    await engine.drain()
    await engine.run_round()


async def find_ref(engine, user):
    [ref] = await engine.store.find_refs([ClientKey(kind=ClientKind.USER, id=user)])
    return ref


async def rewrite(engine, user):
    """Change every line of a profile, under the same ids and sources."""
    ref = await find_ref(engine, user)
    text = (await engine.store.load_texts([ref]))[ref]
    edits = [
        ReplaceLine(line=replace(line, text="Likes polka now.", attributes=("polka",)))
        for line in text.profile.lines
    ]
    after = ClientText(
        profile=text.profile.apply_edits(edits, 12),
        filter_memory=text.filter_memory,
        watermark=text.watermark,
    )
    await engine.store.commit_texts([after], [], await engine.store.get_recorded_through())


async def list_paths(engine, event):
    return [path async for path in engine.tracer.trace_event(event)]


async def test_a_path_shows_profiles_as_they_were_at_each_step(engine):
    await push(engine, "bob", "Aida")
    await engine.profile_reader.read_merged(await find_ref(engine, "ann"))
    for user in ("ann", "bob"):
        await rewrite(engine, user)
    reached = await find_ref(engine, "ann")
    paths = [
        path
        for path in await list_paths(engine, "bob-Aida")
        if isinstance(path[-1], ProfileHop) and path[-1].ref == reached
    ]
    assert paths
    for path in paths:
        lines = [hop.line for hop in path if isinstance(hop, ProfileHop)]
        assert all(line is not None and "polka" not in line.text for line in lines)
        attribute = next(hop.name for hop in path if isinstance(hop, AttributeHop))
        assert attribute in lines[0].attributes
    bob = await find_ref(engine, "bob")
    back = [path async for path in engine.tracer.trace_client(bob, "opera")]
    assert back
    for path in back:
        assert "opera" in next(hop.line for hop in path if isinstance(hop, ProfileHop)).attributes
    await engine.store.database.write(
        lambda connection: connection.execute("UPDATE router_version SET attributes = '[]'")
    )
    back = [path async for path in engine.tracer.trace_client(bob, "opera")]
    back += [path for path in await list_paths(engine, "bob-Aida") if len(path) > 3]
    assert back == [], "an erasure took it out of the messages"


async def test_a_path_ends_at_a_profile_only_if_its_line_has_the_attribute(engine):
    await engine.upsert_clients(
        [
            ClientChange(
                key=ClientKey(kind=ClientKind.ITEM, id="Duet"),
                title="Duet",
                categories=("opera", "polka", "dub", "ska", "folk"),
            )
        ]
    )
    await push(engine, "bob", "Aida", "Duet")
    for user in ("ann", "bob"):
        await engine.profile_reader.read_merged(await find_ref(engine, user))
    paths = [
        path
        for event in ("bob-Aida", "bob-Duet", "ann-Blue")
        for path in await list_paths(engine, event)
    ]
    ends = [
        (next(hop.name for hop in path if isinstance(hop, AttributeHop)), path[-1])
        for path in paths
        if len(path) > 3
    ]
    assert any(isinstance(end, ProfileHop) for _, end in ends)
    for name, end in ends:
        assert name in (end.line.attributes if isinstance(end, ProfileHop) else end.text)


async def test_an_attribute_that_another_event_brought_later_is_on_no_path(engine):
    await push(engine, "bob", "Aida")
    ref = await find_ref(engine, "bob")
    text = (await engine.store.load_texts([ref]))[ref]
    gone = [DropLine(id=line.id) for line in text.profile.lines if "opera" in line.attributes]
    after = ClientText(
        profile=text.profile.apply_edits(gone, 12),
        filter_memory=text.filter_memory,
        watermark=text.watermark,
    )
    await engine.store.commit_texts([after], [], await engine.store.get_recorded_through())
    await push(engine, "bob", "Coda")
    messages = {
        (path[3].router, path[3].round)
        for path in await list_paths(engine, "bob-Aida")
        if len(path) > 3
    }
    later = {
        (path[3].router, path[3].round)
        for path in await list_paths(engine, "bob-Coda")
        if len(path) > 3
    }
    assert messages
    assert later
    assert messages.isdisjoint(later)
