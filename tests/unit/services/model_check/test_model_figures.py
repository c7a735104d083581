"""Figures count a description as its item's by the rule of the service."""

import pytest

from propagation.adapters.openai.prompting import TextCheck
from propagation.adapters.openai.prompts import extract
from propagation.model import NO_USAGE, Client, ClientKey, ClientKind, LossReason
from services.model_check.figures import compute_figures
from services.model_check.observed_asker import AskedQuestion, Reading
from services.model_check.run import Measured

FILMS = [
    Client(2 * number + 1, ClientKey(ClientKind.ITEM, f"i{number}"), title=title)
    for number, title in enumerate(("Godfather, The (1972)", "Scarface (1983)"))
]


@pytest.mark.parametrize(
    ("text", "own", "other"),
    [
        ("The Godfather, for those who like Scarface.", 1, 0),
        ("Scarface, a mafia epic.", 0, 1),
        ("A mafia epic.", 0, 0),
    ],
)
def test_the_table_counts_what_the_service_accepts(text, own, other):
    question = extract.build_question(FILMS)
    answer = extract.ProfileAnswer.model_validate({"lines": [{"text": text, "attributes": []}]})
    check = TextCheck(question.texts)
    question.parts["client_1"].read(answer, check)
    assert (LossReason.OTHER_ITEM in check.reasons) == bool(other)
    readings = {"client_1": [Reading(answer)], "client_2": []}
    measured = Measured(alone=[NO_USAGE], questions=[AskedQuestion(question, readings)])
    [names] = compute_figures(measured, 1).names
    assert (names.items, names.own, names.other) == (2, own, other)
