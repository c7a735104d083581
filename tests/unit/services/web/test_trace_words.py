"""The words of traces: what a line rests on, and what an attribute may mean."""

import pytest

from propagation.v1 import propagation_pb2 as pb
from services.web.views.trace import Origin, describe_answer, find_meant_attributes, link_more

LINE = pb.Hop(profile=pb.ProfileHop(kind=pb.CLIENT_KIND_USER, line=pb.Line(text="likes jazz")))


def choose(sequence: int) -> pb.Path:
    event = pb.Hop(interaction=pb.InteractionSource(sequence=sequence), sequence=sequence)
    return pb.Path(hops=[event, LINE])


def hear(version: int, *, evolution: bool = False) -> pb.Path:
    origin = pb.EvolutionOrigin(run=1) if evolution else None
    message = pb.Hop(message=pb.Message(router=1, version=version), evolution=origin)
    return pb.Path(hops=[message, LINE])


@pytest.mark.parametrize(
    ("paths", "truncated", "sentence"),
    [
        ([choose(1)], False, "1 event."),
        ([hear(1)], False, "1 message."),
        ([choose(1), choose(2), hear(1)], True, "at least 2 events and 1 message."),
        (
            [hear(1, evolution=True)],
            False,
            "1 message, which an evolution of the routers wrote.",
        ),
        (
            [choose(1), hear(1), hear(2, evolution=True)],
            False,
            "1 event and 2 messages, 1 of which an evolution of the routers wrote.",
        ),
    ],
)
def test_a_line_rests_on_what_is_there(paths, truncated, sentence):
    answer = pb.TracePropagationResponse(paths=paths, truncated=truncated)
    assert describe_answer(answer, backward=True) == f"The line rests on {sentence}"


@pytest.mark.parametrize(
    ("shown", "limit", "leads_to"),
    [(20, 20, 100), (500, 500, 1_000), (1_000, 1_000, 0), (7, 20, 0)],
)
def test_more_paths_are_offered_if_a_larger_limit_shows_more(shown, limit, leads_to):
    found = link_more(Origin("attribute", "jazz"), shown, limit)
    assert found == (f"/trace?attribute=jazz&limit={leads_to}" if leads_to else "")


def test_attributes_that_a_text_may_mean_are_near_or_share_a_word():
    names = ["sea stories", "Opera", "operas of Verdi", "jazz"]
    assert find_meant_attributes("operas", names) == ["Opera", "operas of Verdi"]
    assert find_meant_attributes("STORIES of the sea", names)[0] == "sea stories"
    assert find_meant_attributes("zzz", names) == find_meant_attributes("", names) == []
