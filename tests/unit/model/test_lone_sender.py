"""The only sender of a message, which does not receive it back."""

import pytest

from propagation.model import IntegratedAttribute, RouterVersion, find_lone_sender


@pytest.mark.parametrize(("senders", "lone"), [({4}, 4), ({4, 6}, None), (set(), None)])
def test_a_message_has_a_lone_sender_if_it_has_one(senders, lone):
    assert find_lone_sender(frozenset(senders)) == lone


def test_several_parts_of_one_client_have_a_lone_sender():
    parts = tuple(IntegratedAttribute(name, 4, 1, 1) for name in ("jazz", "folk"))
    version = RouterVersion(1, 1, 1, 1, "Jazz", "more jazz", integrated=parts)
    assert version.lone_sender == 4
