"""Only analysts see who a user is; readers do not see what one user took."""

import pytest

from propagation.model import ClientKey, ClientKind, InteractionRow, Line, Source
from propagation.workflow.history.trace import ProfileHop
from services.grpc.handlers.trace_propagation import path_to_proto
from services.grpc.visibility import References
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


LINE = Line(
    id=1, text="Chosen once by someone drawn to opera", attributes=("opera",), sources=(Source(3),)
)


OWN_LINE = Line(
    id=1, text="Often chooses madrigals", attributes=("madrigals",), sources=(Source(3),)
)


def show_path(*roles, named=frozenset()):
    references = References(
        Caller.of_token("t", roles), 2, frozenset(), KEYS, TITLES, {3: EVENT}, {}, named, {}
    )
    path = (EVENT, ProfileHop(ANN, 1, OWN_LINE), ProfileHop(RECORD, 1, LINE))
    return str(path_to_proto(path, references))


@pytest.mark.parametrize("word", ["ann", "Secret"])
def test_only_analysts_see_users(word):
    assert word not in show_path(Role.READ, Role.WRITE)
    assert word in show_path(Role.ANALYST)


@pytest.mark.parametrize("word", ["Aida", "aida", "madrigals"])
def test_what_one_user_did_is_for_the_role_persons_if_the_call_names_the_user(word):
    named = frozenset({ANN})
    assert word not in show_path(Role.READ, Role.WRITE, named=named)
    assert word in show_path(Role.PERSONS, named=named)
    assert word not in show_path(Role.PERSONS)
    assert word in show_path(Role.ANALYST)


def test_an_items_line_that_rests_on_one_user_needs_the_role_analyst():
    assert "opera" not in show_path(Role.PERSONS)
    assert "opera" in show_path(Role.ANALYST)
