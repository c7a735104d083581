"""Texts of a claim are loaded in growing spans.

If the claim ends early, few texts were loaded in vain.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from propagation.adapters.numpy.index import NumpyIndex
from propagation.adapters.offline.embedder import HashedEmbedder
from propagation.adapters.offline.reasoner import OfflineReasoner
from propagation.adapters.sqlite.index.points import SqlitePoints
from propagation.adapters.sqlite.store import SqliteStore
from propagation.model import NewInteraction
from propagation.workflow.compose import compose
from propagation.workflow.reason.drafting import ClaimDrafter, _split_into_spans
from propagation.workflow.settings import BankSettings, WorkflowSettings
from services.runtime.process import SystemClock

LEAST, USERS, EVENTS = 4, 3, 40


@given(st.lists(st.integers()), st.integers(1, 100))
def test_spans_are_the_works_in_order_each_as_many_as_all_before(works, least):
    spans = list(_split_into_spans(works, least))
    assert [work for span in spans for work in span] == works
    before = 0
    for span in spans:
        assert 0 < len(span) <= max(least, before)
        before += len(span)


@pytest.fixture
async def engine(tmp_path):
    settings = WorkflowSettings(
        session=BankSettings(k=4), taste=BankSettings(k=4), table_edges=2, auto_create=True
    )
    store = SqliteStore(tmp_path / "graph.db", SystemClock())
    index = NumpyIndex(SqlitePoints(store.database))
    made = compose(
        store,
        HashedEmbedder(settings.seed),
        index,
        OfflineReasoner(),
        settings,
        "test",
    )
    await made.open()
    await made.record(
        [
            NewInteraction(
                event_id=f"e{n}",
                user_id=f"u{n % USERS}",
                item_id=f"i{n % 7}",
                time=0,
                content_hash=f"{n}",
            )
            for n in range(EVENTS)
        ]
    )
    while await made.learn():
        pass
    yield made
    await made.close()


async def draft(engine, wanted, drafter):
    """Draft a claim without committing it; return the parts and the claim."""
    claim = await engine.store.claim_reason("test", EVENTS, 60_000)
    return [part async for part in drafter.draft(claim.work, 60, wanted)], claim


def list_texts(parts):
    return [text for part in parts for reasoned in part.reasoned for text in reasoned.texts]


async def test_one_span_goes_on_from_what_the_one_before_drafted(engine):
    parts, claim = await draft(
        engine, lambda: True, ClaimDrafter(engine.reasoning.drafting.interactions, LEAST)
    )
    assert [reasoned.sequence for part in parts for reasoned in part.reasoned] == [
        work.sequence for work in claim.work
    ]
    assert [part.is_last for part in parts] == [False] * (len(parts) - 1) + [True]
    seen = {}
    for text in list_texts(parts):
        assert text.profile.version == seen.get(text.profile.ref, text.profile.version - 1) + 1
        seen[text.profile.ref] = text.profile.version
    in_one = ClaimDrafter(engine.reasoning.drafting.interactions, EVENTS)
    assert list_texts(parts) == list_texts(
        [part async for part in in_one.draft(claim.work, 60, lambda: True)]
    )


async def test_where_somebody_waits_only_the_first_span_is_read(engine, monkeypatch):
    interactions, read = engine.reasoning.drafting.interactions, []
    working_set = interactions.load_working_set

    async def load_and_note(works, drafted):
        read.append(len(works))
        return await working_set(works, drafted)

    monkeypatch.setattr(interactions, "load_working_set", load_and_note)
    drafter = ClaimDrafter(interactions, LEAST)

    def end():
        drafter._ending = True
        return True

    parts, _ = await draft(engine, end, drafter)
    assert [len(part.reasoned) for part in parts] == [LEAST]
    assert parts[-1].is_last
    assert read == [LEAST]
