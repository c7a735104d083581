"""A reader without the role analyst sees counts and items, and no id, title or event id of
a user."""

import pytest

from propagation.model import ClientKey, ClientKind, InteractionRow
from propagation.workflow.history.trace import ProfileHop
from services.grpc.convert import References
from services.grpc.handlers.trace_propagation import path_to_proto
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


def shown_to(*roles):
    references = References(Caller(frozenset(roles)), KEYS, TITLES, {3: EVENT}, {})
    path = (EVENT, ProfileHop(ANN, 1, None), ProfileHop(RECORD, 1, None))
    return str(path_to_proto(path, references))


@pytest.mark.parametrize("word", ["ann", "Secret"])
def test_only_analysts_see_users(word):
    assert word not in shown_to(Role.READ, Role.WRITE)
    assert word in shown_to(Role.ANALYST)


@pytest.mark.parametrize("word", ["Aida", "aida"])
def test_readers_see_items(word):
    assert word in shown_to(Role.READ)
