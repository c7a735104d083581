"""How an upsert is merged into the clients that the graph has."""

from propagation.graph_rules.client_upsert import list_keys_to_create, merge_changes
from propagation.model import Client, ClientChange, ClientKey, ClientKind

BLUE = ClientKey(ClientKind.ITEM, "blue")
RED = ClientKey(ClientKind.ITEM, "red")
KNOWN = {BLUE: Client(ref=1, key=BLUE, title="Blue", attributes=("jazz",), sequence=4)}


def list_outcomes(upsert, sequence=9):
    return [
        (outcome.ref, outcome.created, outcome.changed, outcome.sequence)
        for outcome in upsert.outcomes(sequence)
    ]


def test_a_field_that_is_not_given_is_kept():
    upsert = merge_changes([ClientChange(key=BLUE, title="Bluer")], KNOWN, {})
    (client,) = upsert.changed
    assert (client.title, client.attributes) == ("Bluer", ("jazz",))
    assert list_outcomes(upsert) == [(1, False, True, 9)]


def test_the_same_content_again_changes_nothing():
    upsert = merge_changes([ClientChange(key=BLUE, title="Blue")], KNOWN, {})
    assert not upsert.changed
    assert list_outcomes(upsert) == [(1, False, False, 4)]


def test_a_client_is_created_by_its_first_change_alone():
    changes = [ClientChange(key=RED), ClientChange(key=RED), ClientChange(key=RED, title="Red")]
    assert list_keys_to_create(changes, KNOWN) == [RED]
    upsert = merge_changes(changes, KNOWN, {RED: 3})
    assert [client.title for client in upsert.changed] == ["Red"]
    assert list_outcomes(upsert) == [(3, True, True, 9), (3, False, False, 9), (3, False, True, 9)]


def test_changes_of_one_client_apply_in_order():
    changes = [ClientChange(key=BLUE, title="A"), ClientChange(key=BLUE, title="B", hidden=True)]
    (client,) = merge_changes(changes, KNOWN, {}).changed
    assert (client.title, client.hidden) == ("B", True)
