"""cypher/README.md names what a graph holds, after every kind of write, and its examples run."""

import asyncio
import re
from collections import defaultdict
from dataclasses import dataclass, field, replace
from importlib.resources import files

import pytest

from propagation.adapters.neo4j.connection import load_statements
from propagation.adapters.neo4j.store import Neo4jStore
from propagation.model import (
    Attribute,
    ClientChange,
    EvolutionKind,
    ModelExchange,
    RouterDecision,
)
from propagation.ports import Collection, IndexChange
from propagation.usage import PromptCost, Usage
from tests.contract.graph_store import (
    gradient,
    learn_all,
    message,
    reasoned_interaction,
    record_pairs,
    run_round,
    text,
)
from tests.neo4j_server.server import Server
from tests.neo4j_server.shared import get_server
from tests.unit.workflow.small_database import (
    event,
    item_key,
    make_engine,
    open_engine,
    record_history,
    user_key,
)

pytestmark = [pytest.mark.neo4j, pytest.mark.filterwarnings("ignore::DeprecationWarning")]
README = files("cypher").joinpath("README.md").read_text(encoding="utf-8")
GRAPH = README[README.index("## The graph") :]
LABEL = re.compile(r"\(\w*:(\w+(?::\w+)*)")
TYPE = re.compile(r"\[\w*:(\w+)")
NAME = re.compile(r"`(\w+)`")
EXAMPLE = re.compile(r"^```cypher\n(.*?)^```$", re.MULTILINE | re.DOTALL)
EVERYWHERE = "locked"
UNSEEN = {
    *(f"LearnedBlock.{name}" for name in ("marked", "emptied", "promoted")),
    *(f"LearnedBlock.promoted_{name}" for name in ("routers", "weights")),
    "ProfileVersion.follows_gap",
    "Progress.leaving",
    "Progress.edges",
}
"""What a look does not find: it stands between two statements of a withdrawal, or retention writes
it."""


@dataclass
class Schema:
    """Properties by label, and by type of relationship."""

    nodes: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    relationships: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    def look(self, server: Server) -> None:
        """Add what the graph holds now."""
        rows = server.run(
            "MATCH (n) UNWIND labels(n) AS label UNWIND keys(n) + [null] AS key"
            " RETURN DISTINCT label, key"
        )
        for label, key in rows:
            self.nodes[label] |= {key} - {None, EVERYWHERE}
        for type_, key in server.run(
            "MATCH ()-[r]->() UNWIND keys(r) + [null] AS key RETURN DISTINCT type(r), key"
        ):
            self.relationships[type_] |= {key} - {None, EVERYWHERE}


def read_documented_schema() -> Schema:
    """What the README names: a heading or a first cell with labels, then tables of properties."""
    found = Schema()
    labels: list[str] = []
    for line in GRAPH.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        in_line = [one for group in LABEL.findall(cells[0]) for one in group.split(":")]
        if line.startswith("#"):
            labels = in_line
            for label in labels:
                found.nodes[label]
        elif line.startswith("| property of"):
            labels = [OF[cells[0].removeprefix("property of ")]]
        elif line.startswith("|") and TYPE.search(cells[0]):
            for type_ in TYPE.findall(cells[0]):
                found.relationships[type_]
        elif line.startswith("|") and in_line:
            for label in in_line:
                found.nodes[label] |= set(NAME.findall(cells[1]))
        elif line.startswith("| `"):
            for name in re.findall(r"`([\w.]+)`", cells[0]):
                type_, dot, key = name.partition(".")
                if dot:
                    found.relationships[type_].add(key)
                for label in labels if not dot else ():
                    found.nodes[label].add(name)
        elif not line.startswith("|"):
            for label in labels:
                found.nodes[label] |= set(re.findall(r"`(staged\w*)`", line))
    return found


OF = {
    "a round": "Round",
    "an epoch": "Epoch",
    "an evolution run": "EvolutionRun",
    "a commit": "Commit",
    "a log entry": "LogEntry",
}


BESIDE = {
    "Client": ("User", "Item"),
    "User": ("Item",),
    "Item": ("User",),
    "DeadLetter": ("Interaction",),
    "Vacant": ("Interaction",),
    "Leaving": ("Interaction", "ProfileVersion", "Vacant", "Line", "FilterRule"),
    "StagedBlock": ("LearnedBlock",),
    "DroppedBlock": ("LearnedBlock",),
}


class Rewriter:
    """Rewrites each router that it is asked about."""

    async def decide_router(self, case):
        return RouterDecision(EvolutionKind.REWRITE, "says more of jazz", (("", "A text."),))


async def fill_graph(folder, look) -> None:
    """Write to a graph in every way; call `look` where something does not stay."""
    async with open_engine(make_engine(folder, "neo4j", holdout=10, evolve_support=2)) as engine:
        await record_history(engine, 1, 60)
        await engine.init()
        await record_history(engine, 2, 90)
        engine.evolution.planner.reasoner = Rewriter()
        assert (await engine.evolve()).published
        whole = {"description": "Of rain.", "categories": ("lp",), "metadata": {"label": "Blue"}}
        whole["hidden"] = True
        for title in ("Another title", "A third one"):
            await engine.upsert_clients([ClientChange(key=item_key(1), title=title, **whole)])
        await engine.record([event(8_000, 1, 1, metadata={"shop": "north"})])
        events = await record_history(engine, 3, 30)
        look()
        await engine.retract([events[0].event_id])
        look()
        await engine.forget(user_key(2))
        look()
    store = Neo4jStore(get_server(folder).settings)
    await store.open()
    try:
        await write_marks_of_a_model(store, look)
    finally:
        await store.close()


async def write_marks_of_a_model(store, look) -> None:
    """A language model's marks, a dead letter, a threshold, and a round that is not published."""
    sequences = await record_pairs(store, ("new", "record"), ("new", "record"))
    await learn_all(store)
    [ref, other] = await store.find_refs([user_key(0), user_key(1)])
    versions = await store.get_text_versions()
    claim = await store.claim_reason("w", 9, 60_000)
    look()
    asked = Usage((("forward@4", PromptCost(calls=1)),), "offline-1")
    await store.commit_reasoned(
        claim,
        [
            reasoned_interaction(sequences[0], usage=asked, gradients=(gradient(sequences[0], 1),)),
            reasoned_interaction(
                sequences[1], failure="nothing usable", exchange=ModelExchange("well?", "no")
            ),
        ],
    )
    await store.queue_dead_letters(None)
    look()
    await store.commit_texts(
        [text(ref, versions[ref] + 1)], [], sequences[1], written_by="extract@2"
    )
    lease = await store.acquire_lease("learn", "test", 60_000)
    epoch = await store.get_current_epoch()
    await store.fix_tau(lease, epoch.number, 0.5)
    lease = await store.acquire_lease("round", "test", 60_000)
    round_ = await store.begin_round(lease, 0)
    attribute = Attribute(name="new", router=1, holders=2, users=1, canonical="jazz")
    await store.stage_attributes(lease, round_, [attribute], {other: ["new"]})
    await store.stage_changes(lease, round_, [IndexChange(Collection.ROUTERS, 1, 99)])
    look()
    await store.publish_round(lease, round_)
    await run_round(store, versions=(replace(message(9, 1, ref), written_by="summarize@3"),))
    look()


@pytest.fixture(scope="module")
def graph(tmp_path_factory):
    """A filled graph: (its server, all that was seen in it)."""
    folder = tmp_path_factory.mktemp("readme")
    server, seen = get_server(folder), Schema()
    asyncio.run(fill_graph(folder, lambda: seen.look(server)))
    return server, seen


def test_the_readme_names_all_that_is_in_a_graph(graph):
    _, seen = graph
    named = read_documented_schema()
    lacking = [
        f"{label}.{key}"
        for label, keys in seen.nodes.items()
        for key in keys - list_properties(named, label)
    ]
    lacking += [
        f"{type_}.{key}"
        for type_, keys in seen.relationships.items()
        for key in keys - named.relationships.get(type_, set())
    ]
    assert not lacking, ", ".join(sorted(lacking))
    assert seen.nodes.keys() - named.nodes.keys() == set()
    assert seen.relationships.keys() == named.relationships.keys()


def list_properties(named, label):
    """Properties of a label, also of those that its nodes have besides or had before."""
    return set().union(*(named.nodes.get(one, set()) for one in (label, *BESIDE.get(label, ()))))


def test_the_readme_names_nothing_that_no_graph_has(graph):
    _, seen = graph
    named = read_documented_schema()
    absent = {
        f"{label}.{key}"
        for label, keys in named.nodes.items()
        for key in keys - list_properties(seen, label)
        if f"{label}.{key}" not in UNSEEN
    }
    absent |= {
        f"{type_}.{key}"
        for type_, keys in named.relationships.items()
        for key in keys - seen.relationships[type_]
    }
    assert not absent, ", ".join(sorted(absent))


def test_what_a_look_does_not_find_is_written_by_a_statement():
    written = " ".join(one.text for one in load_statements().values())
    assert all(f".{name.partition('.')[2]} = " in written for name in UNSEEN)


@pytest.mark.parametrize("number", range(1, 6))
def test_an_example_runs_as_it_stands(graph, number):
    examples = EXAMPLE.findall(README)
    assert len(examples) == 5
    server, _ = graph
    assert server.run(examples[number - 1]), "it answers nothing"
