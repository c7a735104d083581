"""RecNet's equations 1 to 4 by hand: small enough to check with pencil and paper."""

import numpy as np
import pytest

from propagation.adapters.numpy.index import NumpyIndex
from propagation.adapters.sqlite.index.points import SqlitePoints
from propagation.adapters.sqlite.store import SqliteStore
from propagation.model import (
    Attribute,
    Author,
    ClientText,
    Line,
    Profile,
    RouterVersion,
    Source,
)
from propagation.ports import Collection, Point, Summary
from propagation.reception.message_buffer import ClientEdge, Receiver, SentMessage, WaitingMessages
from propagation.routing import (
    Arrival,
    SemanticPolicy,
    build_integration_requests,
    build_next_version,
    compute_quantile_tau,
    find_canonical_names,
    find_changed_attributes,
    list_own_attributes,
    recount_holders,
)
from services.runtime.process import SystemClock
from tests import qdrants

ANN, BOB, RECORD = 0, 2, 1
VECTORS = {
    "jazz": (1, 0),
    "blues": (0.8, 0.6),
    "opera": (0, 1),
    "all about jazz": (1, 0),
    "": (0, 0),
}


class TableEmbedder:
    """Looks each text up in a table: the vectors of an example that is worked by hand."""

    name = "table"
    dimension = 2

    async def embed(self, texts):
        return np.array([VECTORS[text] for text in texts], np.float32).reshape(-1, 2)


class Tau:
    """A threshold that stays."""

    def __init__(self, value):
        self.value = value

    async def get_tau(self):
        return self.value


def integrate(before, arrivals, round_number, epoch, router=4):
    """Run eq. 3 with an empty answer; return the request and the version that it makes."""
    known = {router: before} if before else {}
    [asked] = build_integration_requests({router: arrivals}, known, {})
    return build_next_version(
        asked,
        Summary(f"router {router}", "A text."),
        before.version + 1 if before else 1,
        arrivals,
        round_number,
        epoch,
    )


@pytest.fixture
async def index(tmp_path):
    store = SqliteStore(tmp_path / "graph.db", SystemClock())
    await store.open()
    opened = NumpyIndex(SqlitePoints(store.database))
    await qdrants.make_collections(opened, "table", 2)
    yield opened
    await store.close()


def text(ref, *lines):
    return ClientText(profile=Profile(ref=ref, version=3, next_id=9, lines=lines))


def line(id_, *names, author=Author.INTERACTION, sequence=None):
    return Line(
        id=id_,
        text=" ".join(names),
        attributes=names,
        author=author,
        sources=(Source(sequence=sequence),) if sequence else (),
    )


def point(key, *vector, attributes=()):
    return Point(
        key=key, version=1, vector=np.array(vector, np.float32), attributes=frozenset(attributes)
    )


def arrival(name, ref=ANN, sequence=7):
    return Arrival(attribute=name, ref=ref, profile_version=3, sequence=sequence)


def test_eq1_attributes_are_what_a_client_says_itself():
    """A_c = extract(P_c): a line that reception wrote is not its preference until it acts on it."""
    ann = text(
        ANN,
        line(1, "jazz", "blues"),
        line(2, "opera", author=Author.RECEPTION),
        line(3, "jazz", author=Author.CATALOGUE),
    )
    assert list_own_attributes(ann) == {"blues": 0, "jazz": 0}


def test_eq1_new_or_confirmed_attributes_travel():
    ann = text(
        ANN,
        line(1, "jazz", sequence=5),
        line(2, "blues", sequence=12),
        line(3, "opera", sequence=4),
    )
    found = find_changed_attributes(
        ANN, 3, list_own_attributes(ann), known=("jazz", "blues"), after=10, canonical={}
    )
    assert [(a.attribute, a.sequence) for a in found] == [("blues", 12), ("opera", 4)]


def test_holders_are_counted_by_what_entered_and_left():
    known = {"jazz": Attribute(name="jazz", holders=4), "opera": Attribute(name="opera", holders=2)}
    after = recount_holders(
        known, {ANN: ("jazz",), BOB: ("opera",)}, {ANN: ("jazz", "opera"), BOB: ()}
    )
    assert after["opera"].holders == 2  # ann took it up, bob dropped it
    assert after.keys() == {"opera"}
    after = recount_holders(known, {ANN: (), BOB: ("jazz",)}, {ANN: ("blues",), BOB: ()})
    assert {name: attribute.holders for name, attribute in after.items()} == {"blues": 1, "jazz": 3}


async def test_eq2_an_attribute_goes_to_the_router_of_highest_cosine(index):
    """R* = argmax_R cos(e_a, e_R). cos(blues, R4) = .8, cos(blues, R9) = .6; opera is R9's."""
    await index.upsert(Collection.ROUTERS, [point(4, 2, 0), point(9, 0, 1)])
    policy = SemanticPolicy(TableEmbedder(), index, Tau(0.5))
    assert await policy.perceive([arrival("blues"), arrival("opera"), arrival("blues", BOB)]) == [
        [4],
        [9],
        [4],
    ]


def test_eq3_a_router_takes_what_arrived_into_its_profile():
    """Standing decays by .95 a round; what arrived adds one a client."""
    before = RouterVersion(
        router=4,
        version=2,
        round=1,
        epoch=1,
        name="",
        text="",
        standing=(("jazz", 2.0), ("soul", 1.0)),
    )
    after = integrate(before, [arrival("jazz"), arrival("jazz", BOB)], 5, 1)
    assert (after.version, after.round) == (3, 5)
    assert dict(after.standing) == {"jazz": pytest.approx(3.9), "soul": pytest.approx(0.95)}
    assert after.attributes == ("jazz",)
    assert after.senders == {ANN, BOB}


async def test_eq4_cosine_above_tau_times_a_shared_attribute(index):
    """Score(R, c) = cos(e_R, e_c) * [A_R and A_c share an attribute], R at (1, 0) carrying jazz,
    tau = .7: ann .8 and jazz: reached · bob 1 but opera alone: 0 · the record .6 and jazz: below
    tau."""
    await index.upsert(
        Collection.USERS,
        [point(ANN, 0.8, 0.6, attributes={"jazz"}), point(BOB, 1, 0, attributes={"opera"})],
    )
    await index.upsert(Collection.ITEMS, [point(RECORD, 0.6, 0.8, attributes={"jazz"})])
    version = RouterVersion(
        router=4, version=1, round=1, epoch=1, name="", text="all about jazz", attributes=("jazz",)
    )
    table = await SemanticPolicy(TableEmbedder(), index, Tau(0.7)).route([], [version])
    assert table.scores == {(4, ANN): pytest.approx(0.8)}
    assert table.routers == [4]


async def test_eq4_a_round_that_reaches_nobody_is_a_warning(index, caplog):
    version = RouterVersion(
        router=4, version=1, round=1, epoch=1, name="", text="all about jazz", attributes=("jazz",)
    )
    table = await SemanticPolicy(TableEmbedder(), index, Tau(0.7)).route([], [version])
    assert table.scores == {}
    assert "reached nobody" in caplog.text


def test_eq4_tau_is_the_ninth_decile_of_all_cosines():
    """One router at (1, 0), clients at cosines 0, .1, ..., 1: the .90 quantile is .9."""
    cosines = np.linspace(0, 1, 11)
    clients = np.stack([cosines, np.sqrt(1 - cosines**2)], axis=1).astype(np.float32)
    router = np.array([[1, 0]], np.float32)
    assert compute_quantile_tau(router, clients, seed=1) == pytest.approx(0.9, abs=1e-6)
    assert compute_quantile_tau(router, clients[:0], seed=1) == 1.0


async def test_jazz_and_jazz_music_meet(index):
    """cos(jazz, blues) = .8: one attribute at .75, two at .92; the older name stays."""
    names = ["jazz", "blues", "opera"]
    vectors = await TableEmbedder().embed(names)
    assert await find_canonical_names(index, names, vectors, 0.92) == {
        "jazz": "jazz",
        "blues": "blues",
        "opera": "opera",
    }
    assert await find_canonical_names(index, names, vectors, 0.75) == {
        "jazz": "jazz",
        "blues": "jazz",
        "opera": "opera",
    }
    await index.upsert(Collection.ATTRIBUTES, [point("soul", 0.9, 0.3)])
    assert (await find_canonical_names(index, names, vectors, 0.92))["jazz"] == "soul"


async def test_a_message_never_reaches_the_one_client_it_came_from():
    alone = integrate(None, [arrival("jazz"), arrival("blues")], 1, 1)
    shared = integrate(None, [arrival("jazz"), arrival("jazz", BOB)], 1, 1, router=5)
    sent = {
        (message.router, 1): SentMessage(
            message.router, message.version, message.round, message.lone_sender
        )
        for message in (alone, shared)
    }
    for ref, expected in ((ANN, [shared]), (BOB, [alone, shared])):
        edges = [ClientEdge(message.router, 1) for message in (alone, shared)]
        search = WaitingMessages([Receiver(ref, 0, edges, 1)], through=1)
        keys = [(message.router, message.version) for message in expected]
        assert search.choose(sent, {})[ref] == keys
