"""What is new in a router's message, and what is no longer in it."""

from propagation.v1 import propagation_pb2 as pb
from services.web.views.routers.one_router import compare_sent


def sent(*attributes, **fields):
    return pb.RouterVersion(attributes=attributes, **fields)


def test_a_message_is_compared_with_the_one_before():
    found = compare_sent(sent("jazz", "folk"), sent("folk", "opera"))
    assert (list(found.gained), list(found.lost)) == (["jazz"], ["opera"])
    first = compare_sent(sent("jazz"), None)
    assert (list(first.gained), list(first.lost)) == ([], [])


def test_messages_of_two_routers_with_one_number_are_not_compared():
    """What became of them is told up to now: a later bootstrap ended both, or only the earlier."""
    earlier, later = pb.RouterEnd(sequence=5), pb.RouterEnd(sequence=9)
    for end, before in ((None, earlier), (later, earlier)):
        found = compare_sent(sent("jazz", end=end), sent("folk", end=before))
        assert (list(found.gained), list(found.lost)) == ([], [])
    for end in (None, later):
        same = compare_sent(sent("jazz", end=end), sent("folk", end=end))
        assert (list(same.gained), list(same.lost)) == (["jazz"], ["folk"])


def test_a_message_of_an_undo_is_not_compared_with_others():
    """Its attributes are the largest of the router, and not those that its text brought."""
    undo = sent("jazz", evolution=pb.EvolutionOrigin(run=2, undoes=1))
    for one, before in ((undo, sent("folk")), (sent("folk"), undo)):
        found = compare_sent(one, before)
        assert (list(found.gained), list(found.lost)) == ([], [])
    merge = sent("jazz", evolution=pb.EvolutionOrigin(run=1))
    assert compare_sent(merge, sent("folk")).lost == ["folk"]
