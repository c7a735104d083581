"""A reader without the role analyst sees counts and items, never another user: no id, no title, no
event's id."""

import pytest

from propagation.model.clients.client import ClientKey, ClientKind
from propagation.model.interactions.interaction import InteractionRow
from propagation.workflow.history.trace import ProfileHop
from services.grpc.convert.paths import path_to_proto
from services.grpc.convert.references import Facts
from services.security.roles import Caller, Role

ANN, RECORD = 0, 1
KEYS = {
    ANN: ClientKey(kind=ClientKind.USER, id="ann"),
    RECORD: ClientKey(kind=ClientKind.ITEM, id="aida"),
}
TITLES = {ANN: "Ann Secret", RECORD: "Aida"}
EVENT = InteractionRow(
    sequence=3, event_id="ann-aida", user=ANN, item=RECORD, negative=None, time=0, weight=1.0
)


def told(*roles):
    facts = Facts(Caller(frozenset(roles)), KEYS, TITLES, {3: EVENT}, {})
    return str(path_to_proto((EVENT, ProfileHop(ANN, 1, None), ProfileHop(RECORD, 1, None)), facts))


@pytest.mark.parametrize("word", ["ann", "Secret"])
def test_a_reader_sees_no_user(word):
    assert word not in told(Role.READ, Role.WRITE)
    assert word in told(Role.ANALYST)


def test_a_reader_sees_items():
    assert "Aida" in told(Role.READ)
    assert "aida" in told(Role.READ)
