"""Ranking in the whole loop refuses events that it cannot rank."""

import pytest

from propagation.evaluation.protocols.whole_loop import rank_in_loop
from propagation.model import ClientChange, ClientKey, ClientKind, InvalidInput, NewInteraction
from propagation.workflow.settings import BankSettings, WorkflowSettings
from services.assembly import build_engine
from services.config.settings import Settings


async def test_events_that_are_all_repeats_are_refused(tmp_path):
    settings = WorkflowSettings(
        session=BankSettings(k=2), taste=BankSettings(k=2), bootstrap_items=1_000, auto_create=True
    )
    engine = build_engine(
        Settings(database=tmp_path / "graph.db", reasoning_in="loop", workflow=settings)
    )
    await engine.open()
    try:
        clients = [
            ClientChange(key=ClientKey(kind=ClientKind.ITEM, id=f"i{n}"), title=f"Record {n}")
            for n in range(4)
        ]
        events = [
            NewInteraction(
                event_id=f"e{n}",
                user_id=f"u{n % 5}",
                item_id=f"i{n % 5 % 4}",
                time=n,
                content_hash=str(n),
            )
            for n in range(80)
        ]
        with pytest.raises(InvalidInput, match="event 32 "):
            await rank_in_loop(engine, clients, events)
    finally:
        await engine.close()


async def test_the_event_of_a_hidden_item_is_left_out(tmp_path):
    """A hidden item is recommended to nobody, so it has no place in the ranking."""
    settings = WorkflowSettings(
        session=BankSettings(k=2), taste=BankSettings(k=2), bootstrap_items=4, auto_create=True
    )
    engine = build_engine(
        Settings(database=tmp_path / "graph.db", reasoning_in="loop", workflow=settings)
    )
    await engine.open()
    try:
        hidden = ClientChange(key=ClientKey(kind=ClientKind.ITEM, id="hidden"), hidden=True)
        events = [
            NewInteraction(
                event_id=f"e{n}",
                user_id=f"u{n % 3}",
                item_id="hidden" if n == 64 else f"i{n % 7}",
                time=n,
                content_hash=str(n),
            )
            for n in range(80)
        ]
        with pytest.raises(InvalidInput, match="event 32 "):
            await rank_in_loop(engine, [hidden], events)
    finally:
        await engine.close()
