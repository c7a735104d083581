"""Every question of cypher/inspect/, asked of a real Neo4j in which something was propagated; as
pasted, and by the command."""

import asyncio
import csv
import datetime
import json
import os
import subprocess
import sys

import pytest
from py2neo.client import Connector

from propagation.adapters.neo4j.index.points import Neo4jPoints
from propagation.adapters.neo4j.store import Neo4jStore
from propagation.adapters.numpy.index import NumpyIndex
from propagation.adapters.offline.embedder import HashedEmbedder
from propagation.adapters.offline.reasoner import OfflineReasoner
from propagation.workflow.compose import compose
from propagation.workflow.replay import replay
from propagation.workflow.settings import BankSettings, WorkflowSettings
from services.inspection.py2neo_client import run_query
from services.inspection.queries import load_queries, load_query
from tests.deployments.test_same_outcome import build_catalogue, draw_events
from tests.neo4j_server.shared import get_server

pytestmark = [pytest.mark.neo4j, pytest.mark.filterwarnings("ignore::DeprecationWarning")]
TODAY = datetime.datetime.now(datetime.UTC).date().isoformat()
WORKFLOW = WorkflowSettings(
    session=BankSettings(k=6),
    taste=BankSettings(k=6),
    table_edges=2,
    update_size=20,
    bootstrap_items=30,
    auto_create=True,
)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    return get_server(tmp_path_factory.mktemp("inspect"))


@pytest.fixture(scope="module")
def facts(server):
    """Something was propagated: (an event that reached somebody, a router that it went by)."""
    asyncio.run(_propagate(server))
    return server.run(
        "MATCH (i:Interaction)-[:WROTE]->(p)-[b:BROUGHT]->() WHERE b.sequence = i.sequence MATCH"
        " (m:Message {router: b.router, version: b.version})-[:MERGED_INTO {outcome: 'merged'}]->()"
        " RETURN i.event_id, m.router LIMIT 1"
    )[0]


async def _propagate(server):
    store = Neo4jStore(server.settings)
    engine = compose(
        store,
        HashedEmbedder(WORKFLOW.seed),
        NumpyIndex(Neo4jPoints(store.database)),
        OfflineReasoner(),
        WORKFLOW,
        "test",
    )
    try:
        await engine.open()
        await replay(engine, build_catalogue(48), draw_events(600, 24, 48), step=64)
    finally:
        await engine.close()


def ask(server, name, **parameters):
    question = load_query(name)
    values = question.parameters([f"{key}={value}" for key, value in parameters.items()])
    return server.run(question.query, **values)


def test_every_question_opens_with_what_it_answers_and_a_sample():
    assert set(load_queries()) == {
        "line_origin",
        "reach",
        "community",
        "shared_routers",
        "busiest_paths",
        "lineage",
        "dropped_messages",
        "client_at",
        "unreached_clients",
    }
    for question in load_queries().values():
        assert question.about.splitlines()[0].endswith("?")
        assert question.sample
        assert all(f"${key}" in question.query for key in question.sample)
        assert all(f"{key}" in question.about for key in question.sample)
        assert ";" not in question.query


@pytest.mark.parametrize("name", sorted(load_queries()))
def test_each_runs_as_it_stands(server, facts, name):
    ask(server, name)


def test_where_a_line_came_from(server, facts):
    found = server.run(
        "MATCH (c:User)-[:SAYS]->(l:Line) WHERE l.messages <> [] RETURN c.id, l.id LIMIT 1"
    )
    assert found, "nobody heard anything"
    client, line = found[0]
    rows = ask(server, "line_origin", client=f"user:{client}", line=line)
    assert rows
    assert any("MERGED_INTO" in kinds for kinds in (list_types(paths) for _, paths in rows))
    assert any("BROUGHT" in kinds for kinds in (list_types(paths) for _, paths in rows))


def list_types(paths):
    return {step.type for path in paths for step in path.relationships}


def test_whom_an_event_reached(server, facts):
    event, _ = facts
    rows = ask(server, "reach", event=event)
    assert {hop for hop, _ in rows} == {1, 2, 3}


def test_the_others_answer_with_what_is_there(server, facts):
    _, router = facts
    members = ask(server, "community", router=router)
    assert {what for what, _, _ in members} == {"member", "newest attribute"}
    pair = server.run(
        "MATCH (a:User)<-[e:ROUTES_TO]-()-[f:ROUTES_TO]->(b:User) WHERE a <> b AND e.from IS NOT "
        "NULL AND e.until IS"
        " NULL AND f.from IS NOT NULL AND f.until IS NULL RETURN a.id, b.id LIMIT 1"
    )[0]
    assert ask(server, "shared_routers", one=f"user:{pair[0]}", other=f"user:{pair[1]}")
    busiest = ask(server, "busiest_paths", day=TODAY)
    assert busiest
    assert busiest == sorted(busiest, key=lambda row: -row[0])
    at = (datetime.datetime.now(datetime.UTC) + datetime.timedelta(minutes=1)).isoformat()
    looked = ask(server, "client_at", client=f"user:{pair[0]}", at=at)
    assert {row[1] for row in looked} == {"profile", "edge"}
    assert ask(server, "lineage", router=router)[0][1] == 0
    server.run("CREATE (:Client:User {ref: 1000000, id: 'newcomer', title: 'Nobody', version: 0})")
    assert "user:newcomer" in {row[0] for row in ask(server, "unreached_clients")}
    server.run("MATCH (c:User {id: 'newcomer'}) DELETE c")
    server.run(
        "MATCH (m:Message), (p:ProfileVersion) WITH m, p LIMIT 1 CREATE (m)-[:MERGED_INTO "
        "{outcome: 'filtered', sequence: 5,"
        " ref: p.ref}]->(p)"
    )
    assert [row[:2] for row in ask(server, "dropped_messages")] == [["filtered", 5]]


@pytest.fixture
def namesakes(server, facts):
    """A user and an item that both have the id "1", each with edges, a profile and a line."""
    clients = server.run(
        "MATCH (:Router)-[e:ROUTES_TO]->(c:Client) WHERE e.from IS NOT NULL AND e.until IS NULL AND"
        " c.version > 0 WITH DISTINCT c ORDER BY c.ref WITH collect(c) AS found"
        " RETURN head([c IN found WHERE c:User | c.ref]), head([c IN found WHERE c:Item | c.ref])"
    )[0]
    rename = "UNWIND $rows AS row MATCH (c:Client {ref: row[0]}) SET c.id = row[1]"
    before = server.run(
        "UNWIND $refs AS ref MATCH (c:Client {ref: ref}) RETURN c.ref, c.id", refs=clients
    )
    server.run(rename, rows=[[ref, "1"] for ref in clients])
    yield clients
    server.run(rename, rows=before)


def test_user_1_is_not_item_1(server, namesakes):
    user, item = namesakes
    later = (datetime.datetime.now(datetime.UTC) + datetime.timedelta(minutes=1)).isoformat()

    def list_ends(paths):
        return {
            node["ref"] for path in paths for node in path.nodes if node.labels & {"User", "Item"}
        }

    for client, ref in (("user:1", user), ("item:1", item)):
        (line,) = server.run(
            "MATCH (:Client {ref: $ref})-[:SAYS]->(l:Line) RETURN l.id LIMIT 1",
            ref=ref,
        )[0]
        at = ask(server, "client_at", client=client, at=later)
        assert {row[1] for row in at} == {"profile", "edge"}
        assert list_ends(row[-1] for row in at) == {ref}
        origins = ask(server, "line_origin", client=client, line=line)
        assert {paths[0].start_node["ref"] for _, paths in origins} == {ref}
        itself = ask(server, "shared_routers", one=client, other="user:1")
        assert all(list_ends([row[-1]]) <= {ref, user} for row in itself)


def test_the_command_tells_namesakes_apart(run_inspect, namesakes):
    later = (datetime.datetime.now(datetime.UTC) + datetime.timedelta(minutes=1)).isoformat()
    for client, other in (("user:1", "item:1"), ("item:1", "user:1")):
        shown = run_inspect(
            "client_at", "--param", f"client={client}", "--param", f"at={later}", "--csv", "-"
        )
        assert f"({client})" in shown.stdout
        assert f"({other})" not in shown.stdout
    bare = run_inspect("client_at", "--param", "client=1")
    assert (bare.returncode, bare.stdout) == (2, "")
    assert "user:ID or item:ID" in bare.stderr


@pytest.fixture
def run_inspect(server):
    def run_inspect(*arguments, **environment):
        return subprocess.run(
            [sys.executable, "-m", "services.cli.main", "inspect", *arguments],
            env={
                **os.environ,
                "PROPAGATION_NEO4J__URI": server.settings.uri,
                "PROPAGATION_NEO4J__PASSWORD": server.settings.password.get_secret_value(),
                **environment,
            },
            text=True,
            capture_output=True,
            timeout=60,
            check=False,
        )

    return run_inspect


def test_the_command_lists_the_questions(run_inspect):
    assert {found["name"] for found in json.loads(run_inspect("--json").stdout)} == set(
        load_queries()
    )


def test_the_command_prints_a_table(run_inspect, facts):
    table = run_inspect("reach", "--param", f"event={facts[0]}")
    assert table.returncode == 0, table.stderr
    assert "-DID->" in table.stdout


def test_the_command_writes_csv(run_inspect, facts, tmp_path):
    event, _ = facts
    written = run_inspect(
        "reach", "--param", f"event={event}", "--csv", str(tmp_path / "reach.csv")
    )
    assert written.returncode == 0, written.stderr
    text = (tmp_path / "reach.csv").read_text()
    assert text.startswith('"hop","path"'), "a text is quoted, whatever separates the cells"
    rows = list(csv.reader(text.splitlines()))
    assert rows[0] == ["hop", "path"]
    assert len(rows) > 3


def test_an_unknown_parameter_is_refused_with_those_that_there_are(run_inspect):
    wrong = run_inspect("reach", "--param", "evnt=1")
    assert wrong.returncode == 2
    assert "event, limit" in wrong.stderr
    assert "cypher-shell" not in wrong.stderr


@pytest.mark.parametrize(
    ("parameter", "message"),
    [
        ("limit=99999999999999999999", "at most 9223372036854775807"),
        ("limit=-1", "non-negative"),
        ("event=\udcff", "UTF-8"),
    ],
)
def test_an_impossible_value_is_refused_in_one_line(run_inspect, parameter, message):
    wrong = run_inspect("reach", "--param", parameter)
    assert wrong.returncode == 2, wrong.stderr
    assert message in wrong.stderr
    assert len(wrong.stderr.splitlines()) == 1


def test_a_value_is_no_part_of_the_query(run_inspect, facts):
    nobody = run_inspect("reach", "--param", "event=é'; MATCH (n) DETACH DELETE n //", "--csv", "-")
    assert (nobody.returncode, nobody.stdout.splitlines()) == (0, ['"hop","path"'])
    assert "event=é'" in nobody.stderr


def test_a_wrong_password_is_refused_in_one_line(run_inspect):
    refused = run_inspect("reach", PROPAGATION_NEO4J__PASSWORD="not-the-password")
    assert refused.returncode == 4
    assert len(refused.stderr.splitlines()) == 1


def test_an_answer_costs_one_statement(server, facts, monkeypatch):
    """py2neo's own nodes would each be asked for again."""
    sent, auto_run, run = [], Connector.auto_run, Connector.run

    def run_and_note(self, query, *args, **kwargs):
        sent.append(query)
        return auto_run(self, query, *args, **kwargs)

    monkeypatch.setattr(Connector, "auto_run", run_and_note)
    monkeypatch.setattr(
        Connector,
        "run",
        lambda self, ref, query, *args: (sent.append(query), run(self, ref, query, *args))[1],
    )
    question = load_query("reach")
    columns, rows = run_query(server.settings, question, question.parameters([f"event={facts[0]}"]))
    assert columns == ["hop", "path"]
    assert len(rows) > 3
    assert sent == [question.query]
