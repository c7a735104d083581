"""What a server has planned before the first reader comes."""

import re

import pytest

from propagation.adapters.neo4j.store import Neo4jStore
from propagation.model.clients.client import ClientKey, ClientKind
from tests.contract.graph_store import TurnedClock
from tests.neo4j_server.shared import server_for

LENGTHS = (1, 3, 30)


@pytest.fixture
async def store(tmp_path):
    store = Neo4jStore(server_for(tmp_path).settings, TurnedClock())
    await store.open()
    yield store
    await store.close()


def forgotten(server):
    """How many plans the server kept until now."""
    ((told,),) = server.run("CALL db.clearQueryCaches()")
    return int(re.search(r"(\d+)", told).group())


async def read(store):
    """By what a profile and a trace are read, of lists of several lengths."""
    for length in LENGTHS:
        refs = list(range(10**9, 10**9 + length))
        await store.load_texts(refs)
        await store.get_clients(refs)
        await store.interactions(refs)
        await store.messages([(ref, 1) for ref in refs], 2)
        await store.get_attributes([str(ref) for ref in refs])
    await store.contributions(10**9, 10)
    for event_id in ("a", "order-1", "a longer one of nobody's"):
        await store.find_event(event_id)
    await store.find_refs([ClientKey(kind=ClientKind.USER, id="nobody")])
    await store.find_refs([ClientKey(kind=ClientKind.ITEM, id="nothing")])
    await store.router_versions(range(10**9, 10**9 + 80))
    await store.count_members(range(10**9, 10**9 + 80))
    await store.members_of(10**9, 1)
    await store.router_version(10**9, 1)
    await store.text_at(10**9, 1)
    await store.router_maps()
    await store.router_lineage()
    await store.last_withdrawal()


@pytest.mark.neo4j
async def test_what_is_read_first_is_planned_already(store, tmp_path):
    server = server_for(tmp_path)
    forgotten(server)
    await read(store)
    assert forgotten(server) > len(LENGTHS) * 4
    await store.prepare()
    prepared = forgotten(server)
    await store.prepare()
    await read(store)
    assert forgotten(server) == prepared
