"""The check of a database that others write to meanwhile finds nothing, and finds what is wrong."""

import asyncio
import itertools

import pytest

from propagation.adapters.neo4j.maintenance.removed_draws import read_removed_items
from propagation.adapters.neo4j.store import Neo4jStore
from propagation.model import ClientKind, ClientText, Line, Profile
from services.cli.operator.doctor import find_lasting
from tests.contract.graph_store import (
    change,
    create_clients,
    event,
    learn_all,
    message,
    reasoned_interaction,
    record_pairs,
    run_round,
    text,
    user,
)
from tests.neo4j_server.shared import get_server

pytestmark = pytest.mark.neo4j
LOOKS, WRITERS = 60, 4


@pytest.fixture
async def stores(tmp_path):
    """A store that is checked, and one that writes to the same database."""
    both = [Neo4jStore(get_server(tmp_path).settings) for _ in range(2)]
    for store in both:
        await store.open()
    await create_clients(both[0])
    yield both
    for store in both:
        await store.close()


async def test_events_that_are_recorded_while_the_log_is_counted_are_no_finding(stores):
    checked, written = stores
    stopped = asyncio.Event()

    async def write(name):
        for number in itertools.count():
            if stopped.is_set():
                return
            await written.record([event(f"{name}-{number}")], auto_create=True)

    writing = [asyncio.create_task(write(name)) for name in range(WRITERS)]
    try:
        for _ in range(LOOKS):
            assert await checked.check() == []
    finally:
        stopped.set()
        await asyncio.gather(*writing)


async def test_commits_between_the_reads_are_no_finding(stores, monkeypatch):
    """Before each read of the check, another process records, learns, reasons and runs a round."""
    checked, written = stores
    versions, run = itertools.count(1), checked.database._run

    async def commit():
        version = next(versions)
        (sequence,) = await record_pairs(written, ("u0", "i0"))
        await learn_all(written)
        claim = await written.claim_reason("w", 9, 1_000)
        await written.commit_reasoned(
            claim, [reasoned_interaction(sequence, text(user(0), version))]
        )
        await run_round(written, versions=(message(1, version, user(0)),))

    async def commit_and_run(*arguments, **options):
        await commit()
        return await run(*arguments, **options)

    monkeypatch.setattr(checked.database, "_run", commit_and_run)
    assert await find_lasting(checked.check) == []


async def test_an_item_that_is_created_meanwhile_is_not_taken_for_a_removed_one(
    stores, monkeypatch
):
    checked, written = stores
    names, read = itertools.count(), checked.database.rows

    async def create_and_read(*arguments, **options):
        await written.upsert_clients([change(ClientKind.ITEM, f"new {next(names)}")])
        return await read(*arguments, **options)

    monkeypatch.setattr(checked.database, "rows", create_and_read)
    assert not (await read_removed_items(checked.database)).any()
    assert next(names) == 2, "before both reads"


async def test_what_is_wrong_is_found_while_others_write(stores, tmp_path):
    checked, written = stores
    broken, _ = await record_pairs(written, ("u0", "i0"), ("u1", "i1"))
    get_server(tmp_path).run(
        "MATCH (i:Interaction {sequence: $broken})-[did:DID]-() DELETE did", broken=broken
    )
    get_server(tmp_path).run("MATCH (e:LogEntry) WITH e LIMIT 1 DELETE e")

    async def look():
        await record_pairs(written, ("u2", "i2"))
        return await checked.check()

    found = "; ".join(await find_lasting(look))
    assert f"interaction {broken} names user" in found
    assert "lacks 1 " in found
    assert "does not name client" in found


async def test_nodes_follow_a_text_that_another_process_wrote_in_between(stores):
    """A process compares a new text with the one that it stored last, if that is still current."""
    here, there = stores
    (sequence,) = await record_pairs(here, ("ann", "red"))
    lines = [Line(id=number, text=f"Likes number {number}.") for number in range(4)]
    for version, (store, *ids) in enumerate(
        [(here, 1), (here, 1, 2), (there, 2, 3), (here, 3), (here, 3)], 1
    ):
        profile = Profile(
            ref=user(0), version=version, lines=tuple(lines[id_] for id_ in ids), next_id=9
        )
        await store.commit_texts([ClientText(profile=profile)], [], sequence)
        assert await here.check() == []
