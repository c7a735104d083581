"""What becomes of the events of one commit."""

from propagation.graph_rules.event_outcome import EventDecisions, RecordedEvent, decide_event_states
from propagation.model import (
    ClientKind,
    EventState,
    EventStatus,
    NewInteraction,
    RecordStatus,
)

USER, ITEM = ClientKind.USER, ClientKind.ITEM
USERS = {"ann"}
ITEMS = {"blue", "red"}


def event(event_id, user="ann", item="blue", negative=None, content_hash="h"):
    return NewInteraction(
        event_id=event_id,
        user_id=user,
        item_id=item,
        negative_id=negative,
        time=1,
        content_hash=content_hash,
    )


def decide(*events, recorded=None, forgotten=(), auto_create=False):
    decisions = EventDecisions(recorded or {}, forgotten, USERS, ITEMS)
    for each in events:
        decisions.decide(each, auto_create=auto_create)
    return decisions


def list_outcomes(decisions, first=10):
    return [(outcome.status, outcome.sequence) for outcome in decisions.outcomes(first)]


def test_accepted_events_are_numbered_without_gaps():
    decisions = decide(event("a"), event("x", user="bob"), event("b"))
    assert list_outcomes(decisions) == [
        (RecordStatus.ACCEPTED, 10),
        (RecordStatus.UNKNOWN_USER, 0),
        (RecordStatus.ACCEPTED, 11),
    ]
    assert [each.event_id for each in decisions.accepted] == ["a", "b"]


def test_an_equal_event_is_a_duplicate_of_the_recorded_one():
    decisions = decide(event("a"), recorded={"a": RecordedEvent("h", 3)})
    assert list_outcomes(decisions) == [(RecordStatus.DUPLICATE, 3)]


def test_other_content_under_a_recorded_id_is_a_conflict():
    decisions = decide(event("a"), recorded={"a": RecordedEvent("other", 3)})
    assert list_outcomes(decisions) == [(RecordStatus.CONFLICT, 0)]


def test_any_content_is_a_duplicate_of_an_event_without_hash():
    decisions = decide(event("a"), recorded={"a": RecordedEvent("", 3)})
    assert list_outcomes(decisions) == [(RecordStatus.DUPLICATE, 3)]


def test_a_repeat_within_the_commit_gets_the_sequence_of_the_first():
    decisions = decide(event("a"), event("b"), event("b"), event("b", content_hash="other"))
    assert list_outcomes(decisions) == [
        (RecordStatus.ACCEPTED, 10),
        (RecordStatus.ACCEPTED, 11),
        (RecordStatus.DUPLICATE, 11),
        (RecordStatus.CONFLICT, 0),
    ]


def test_a_forgotten_event_is_refused_whatever_is_recorded():
    decisions = decide(event("a"), recorded={"a": RecordedEvent("h", 3)}, forgotten={"a"})
    assert list_outcomes(decisions) == [(RecordStatus.FORGOTTEN, 0)]


def test_the_first_unknown_client_is_named():
    decisions = decide(
        event("a", user="bob", item="new"),
        event("b", item="new", negative="newer"),
        event("c", negative="newer"),
    )
    assert [status for status, _ in list_outcomes(decisions)] == [
        RecordStatus.UNKNOWN_USER,
        RecordStatus.UNKNOWN_ITEM,
        RecordStatus.UNKNOWN_NEGATIVE,
    ]
    assert not decisions.created


def test_unknown_clients_are_created_once_in_order():
    decisions = decide(
        event("a", user="bob", negative="new"), event("b", user="bob", item="new"), auto_create=True
    )
    assert list(decisions.created) == [(USER, "bob"), (ITEM, "new")]
    assert len(decisions.accepted) == 2


def test_a_refused_event_creates_no_client():
    decisions = decide(
        event("a", user="bob"), recorded={"a": RecordedEvent("other", 3)}, auto_create=True
    )
    assert not decisions.created


def test_a_recorded_event_is_not_retracted_and_a_retracted_one_not_forgotten():
    states = decide_event_states(
        ["unknown", "recorded", "retracted", "forgotten"],
        {"recorded": event("recorded")},
        {"recorded", "retracted"},
        {"recorded", "retracted", "forgotten"},
    )
    assert states == [
        EventState(EventStatus.UNKNOWN),
        EventState(EventStatus.RECORDED, event("recorded")),
        EventState(EventStatus.RETRACTED),
        EventState(EventStatus.FORGOTTEN),
    ]
