"""The graph server's disk is full: that is said in a line, acknowledgements stop, nothing that was
acknowledged is lost, and once there is room and the server was started again the same store goes
on."""

import asyncio
import os
import subprocess

import pytest

from propagation.adapters.neo4j.store import Neo4jStore
from propagation.model import StoreFull, StoreUnreachable
from tests.contract.graph_store import event, learn_all
from tests.neo4j_server.server import Neo4jServer
from tests.neo4j_server.shared import skip_where_missing

pytestmark = [pytest.mark.neo4j, pytest.mark.slow]
SMALL, LARGE = "24m", "1g"
CALLS, EVENTS_A_CALL, METADATA = 100, 50, {"more": "x" * 8_000}


@pytest.fixture
def disk(tmp_path):
    """A folder on a disk of its own."""
    skip_where_missing()
    folder = tmp_path / "disk"
    folder.mkdir()
    if (
        os.geteuid()
        or subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={SMALL}", "none", str(folder)], check=False
        ).returncode
    ):
        pytest.skip("only root may make a small disk")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


async def fill_disk(store):
    """Record until a call is refused; return the acknowledged event ids and the refusal."""
    acked: list[str] = []
    for call in range(CALLS):
        events = [
            event(f"{call}-{n}", f"u{n}", f"i{n}", metadata=METADATA) for n in range(EVENTS_A_CALL)
        ]
        try:
            await store.record(events, auto_create=True)
        except (StoreFull, StoreUnreachable) as error:
            return acked, error
        acked += [one.event_id for one in events]
    raise AssertionError("the disk never was full")


async def test_a_full_disk_stops_acknowledgements_and_loses_nothing(disk):
    server = Neo4jServer(disk / "neo4j")
    await asyncio.to_thread(server.start)
    store = Neo4jStore(
        server.settings.model_copy(update={"retry_seconds": 1.0, "answer_seconds": 20.0})
    )
    try:
        await store.open()
        acked, refusal = await fill_disk(store)
        assert len(acked) > EVENTS_A_CALL
        assert isinstance(refusal, StoreFull), refusal
        with pytest.raises((StoreFull, StoreUnreachable), match="server's disk") as later:
            await store.record([event("later", "u0", "i0")], auto_create=True)
        for error in (refusal, later.value):
            assert "restart the server" in str(error)
            assert "\n" not in str(error)
        await asyncio.to_thread(
            subprocess.run, ["mount", "-o", f"remount,size={LARGE}", str(disk)], check=True
        )
        await asyncio.to_thread(server.kill)
        await asyncio.to_thread(server.start)
        await store.record([event("later", "u0", "i0")], auto_create=True)
        await learn_all(store)
        assert await store.check() == []
        there = {row[0] for row in server.run("MATCH (i:Interaction) RETURN i.event_id")}
        assert there >= {*acked, "later"}
        assert len(there) - len(acked) - 1 in (0, EVENTS_A_CALL), (
            "the last call is there whole, or not at all"
        )
    finally:
        await store.close()
        await asyncio.to_thread(server.stop)
