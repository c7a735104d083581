"""Every statement's plan, looked at: none reads all nodes, none multiplies, labels are scanned only
where the file says so."""

import pytest

from propagation.adapters.neo4j.connection import load_statements
from propagation.model import Attribute
from services.inspection.queries import load_queries
from tests.contract.graph_store import (
    create_clients,
    edge,
    item,
    learn_all,
    message,
    reasoned_interaction,
    record_pairs,
    run_round,
    text,
    user,
)
from tests.neo4j_server.shared import get_server
from tests.neo4j_server.statement_headers import read_header

pytestmark = [pytest.mark.neo4j, pytest.mark.parametrize("reopen", ["neo4j"], indirect=True)]
NOT_EXPLAINED = ("connection/count_nodes", "connection/list_indexes", "connection/await_indexes")
NEVER = ("AllNodesScan", "CartesianProduct", "RelationshipTypeScan", "AllRelationshipsScan")


def list_operators(plan):
    yield plan["operatorType"].split("@")[0], plan.get("args", {}).get("Details", "")
    for child in plan.get("children", ()):
        yield from list_operators(child)


def find_operators_above_seeks(plan, above=""):
    """What takes the rows of each index seek, once they are filtered."""
    operator = plan["operatorType"].split("@")[0]
    if "IndexSeek" in operator:
        yield above
    for child in plan.get("children", ()):
        yield from find_operators_above_seeks(
            child, above if operator in ("Filter", "CacheProperties") else operator
        )


def find_faults(server):
    """What is wrong with each statement's plan on the database as it is."""
    found = []
    asked = [
        (name, read_header(name).get("scans", ""), one.sent)
        for name, one in load_statements().items()
        if not name.startswith(NOT_EXPLAINED)
    ]
    asked += [
        (
            f"inspect/{name}",
            "".join(line for line in one.about.splitlines() if line.startswith("scans:")),
            one.query,
        )
        for name, one in load_queries().items()
    ]
    for (name, scans, _), plan in zip(
        asked, server.plans([query for *_, query in asked]), strict=True
    ):
        for operator, details in list_operators(plan):
            if any(never in operator for never in NEVER):
                found.append(f"{name}: {operator} {details}")
            if operator == "NodeByLabelScan" and details.split(":")[-1] not in scans:
                found.append(f"{name}: {operator} {details}")
    return found


ONE_BY_THE_INDEX = (
    "rounds/messages/current_messages",
    "rounds/messages/newest_from_others",
    "rounds/messages/newest_messages",
)


async def test_what_was_current_is_one_step_into_the_index_not_a_sort_of_all_that_was_sent(
    store, tmp_path
):
    statements = load_statements()
    plans = get_server(tmp_path).plans([statements[name].sent for name in ONE_BY_THE_INDEX])
    for name, plan in zip(ONE_BY_THE_INDEX, plans, strict=True):
        found = list(find_operators_above_seeks(plan))
        assert found, name
        assert all(operator == "Limit" for operator in found), (name, found)


async def test_plans_on_an_empty_database(store, tmp_path):
    assert find_faults(get_server(tmp_path)) == []


async def test_plans_on_a_database_with_something_in_it(store, tmp_path):
    await create_clients(store, 200)
    sequences = await record_pairs(store, *((f"u{n % 50}", f"i{n % 90}") for n in range(400)))
    await learn_all(store)
    claim = await store.claim_reason("w", 400, 10_000)
    await store.commit_reasoned(
        claim,
        [reasoned_interaction(n, text(user(place), 1)) for place, n in enumerate(sequences[:200])],
    )
    lease = await store.acquire_lease("round", "test", 60_000)
    versions = tuple(
        message(router, 1, *(user(n) for n in range(router, router + 9))) for router in range(20)
    )
    await run_round(
        store,
        versions=versions,
        opened=tuple(edge(n % 20, client(n)) for client in (user, item) for n in range(200)),
    )
    round_ = await store.begin_round(lease, 9)
    await store.stage_attributes(
        lease, round_, [Attribute(name=f"a{n}", holders=2) for n in range(300)], {}
    )
    await store.publish_round(lease, round_)
    assert find_faults(get_server(tmp_path)) == []
