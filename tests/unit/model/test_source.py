"""What a line rests on: an interaction, or a message."""

from propagation.model import Source


def test_a_source_is_an_interaction_or_a_message():
    assert Source(router=0, version=2).message == (0, 2)
    assert Source(sequence=7).message is None
