"""Prompt_optimizer of routers (eq. 9): what a model is shown, and which of its answers can be
carried out."""

import pytest

from propagation.adapters.openai.prompting import TextCheck
from propagation.adapters.openai.prompts.evolve import Decision, build_question, read_decision
from propagation.model import (
    ClientKind,
    EvolutionKind,
    Gradient,
    Module,
    RouterCase,
    RouterHalf,
    RouterVersion,
    compute_ref,
)

ROUTER = RouterVersion(
    router=3, version=1, round=1, epoch=1, name="jazz", text="A community drawn to jazz."
)
TOLD = Gradient(
    sequence=9,
    module=Module.ROUTER,
    owner=3,
    writer=compute_ref(ClientKind.USER, 77),
    reward=0,
    text="Say more of opera.",
)
HALVES = (
    RouterHalf(0.4, {"jazz": 4}, {"jazz": 1.0}),
    RouterHalf(0.6, {"opera": 5}, {"opera": 1.0}),
)
SPOKEN = {"name": "opera lovers", "text": "They listen to opera, and lately to songs."}


def case(**fields):
    return RouterCase(
        router=ROUTER,
        gradients=(TOLD,),
        praised=1,
        blamed=4,
        choices={"opera": 5, "jazz": 4},
        common={},
        **fields,
    )


def answer(kind, count):
    return Decision.model_validate(
        {"kind": kind, "reason": "readers say so", "routers": [SPOKEN] * count}
    )


def test_the_model_sees_what_readers_said_and_no_user():
    asked = build_question(case(halves=HALVES, nearest=ROUTER, similarity=0.912))
    shown = asked.data["router"]
    assert (shown["misled"], shown["gradients"], shown["likeness"]) == (
        4,
        ["Say more of opera."],
        0.91,
    )
    assert [half["chose"] for half in shown["halves"]] == [{"jazz": 4}, {"opera": 5}]
    assert "77" not in str(asked.data)


def test_decisions_that_can_be_carried_out():
    split = read_decision(answer("split", 2), case(halves=HALVES), TextCheck())
    assert (split.kind, len(split.texts), split.reason) == (
        EvolutionKind.SPLIT,
        2,
        "readers say so",
    )
    assert split.written_by == "evolve@3"
    assert (
        read_decision(answer("merge", 1), case(nearest=ROUTER), TextCheck()).kind
        == EvolutionKind.MERGE
    )
    assert read_decision(answer("rewrite", 1), case(), TextCheck()).texts == (
        (SPOKEN["name"], SPOKEN["text"]),
    )
    assert read_decision(answer("keep", 0), case(), TextCheck()).kind is None


@pytest.mark.parametrize(
    ("kind", "count", "words"),
    [
        ("split", 2, "no halves"),
        ("merge", 1, "no router to merge"),
        ("rewrite", 0, "must hold 1"),
        ("rewrite", 2, "must hold 1"),
    ],
)
def test_decisions_that_cannot(kind, count, words):
    with pytest.raises(ValueError, match=words):
        read_decision(answer(kind, count), case(), TextCheck())
