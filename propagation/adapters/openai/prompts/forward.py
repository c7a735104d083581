"""Prompt_merge and Prompt_predict in one.

Source:
    RecNet, eq. 5 and 6; Algorithm 1, lines 6 and 7.
"""

from collections.abc import Sequence

from propagation.adapters.openai.prompting import (
    RULES,
    USUAL_FORM,
    ExpectedPart,
    Letters,
    Prompt,
    Question,
    QuestionForm,
    drop_none,
    find_text_subjects,
    show_party,
)
from propagation.adapters.openai.prompts import merge, predict
from propagation.ports import Party

PROMPT = Prompt(
    "forward@4", f"{RULES}\n{merge.HOW}\nWith what was taken in, answer too:\n{predict.HOW}"
)
NAMES = ("user", "candidate_1", "candidate_2")


def build_question(
    user: Party,
    candidates: Sequence[Party],
    form: QuestionForm = USUAL_FORM,
    *,
    predicts: bool = True,
) -> Question:
    """Ask about a user and one or two candidates.

    The answer has a part for each of user, candidate_1 and candidate_2 that has messages. With two
    candidates it also has a part `prediction`.

    Args:
        predicts: False leaves the prediction out.
    """
    parties = (user, *candidates)
    letters = Letters(parties)
    parts: dict[str, ExpectedPart] = {
        name: merge.build_reception_part(party, letters, form, parties)
        for name, party in zip(NAMES, parties, strict=False)
        if party.messages
    }
    if len(candidates) == 2 and predicts:
        parts["prediction"] = predict.CHOICE
    asked = PROMPT if predicts else merge.PROMPT
    return Question(
        asked if letters.messages else predict.PROMPT,
        drop_none(
            messages=letters.show() or None,
            **{
                name: show_party(party, letters, whole=not letters.messages, titles=form.titles)
                for name, party in zip(NAMES, parties, strict=False)
            },
        ),
        parts,
        find_text_subjects(
            form, [party.client for party in parties], letters.messages.values(), parties
        ),
    )
