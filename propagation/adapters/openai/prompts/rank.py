"""The model as a ranker of numbered candidates.

The order in which the candidates are shown says nothing.

Source:
    RecNet 3.1.3.
"""

from collections.abc import Sequence
from typing import Annotated

from pydantic import BeforeValidator, Field

from propagation.adapters.openai.prompting import (
    RULES,
    USUAL_FORM,
    Answer,
    ExpectedPart,
    Number,
    Prompt,
    Question,
    QuestionForm,
    limit_length,
    show_candidate,
    show_party,
    to_list,
)
from propagation.ports import Party

LINES, CANDIDATES = 3, 1_000
MOST_LISTED = 50  # a long enumeration costs some servers seconds
PROMPT = Prompt(
    "rank@2",
    RULES
    + """
Rank the candidates by how likely the user is to choose each next, by the profiles. `order`: the number of every candidate once,
likeliest first. The order in which they are given says nothing.""",
)


class Ranking(Answer, stands_for="order"):
    """The candidates' numbers, best first."""

    order: Annotated[
        list[Number],
        BeforeValidator(to_list),
        Field(default_factory=list),
        limit_length(CANDIDATES, least=1),
    ]


def build_question(
    user: Party, candidates: Sequence[Party], form: QuestionForm = USUAL_FORM
) -> Question:
    """Ask for an order of the candidates, as the only part `ranking`."""
    count = len(candidates)
    listed = count <= MOST_LISTED
    return Question(
        PROMPT,
        {
            "user": show_party(user),
            "candidates": {
                str(place): show_candidate(one, LINES, titles=form.titles)
                for place, one in enumerate(candidates, 1)
            },
        },
        {
            "ranking": ExpectedPart(
                Ranking,
                lambda answer, check: read_order(answer, count),
                choices={"order": range(1, count + 1)} if listed else {},
                lengths={"order": (count, count)},
            )
        },
    )


def read_order(answer: Ranking, count: int) -> list[int]:
    """Return the places of the candidates (from 0), best first.

    No grammar prevents that a number comes twice. So its first place counts, and the numbers that
    are missing follow, in the order in which they were shown, if they are at most half.

    Raises:
        ValueError: More than half of the numbers are missing.
    """
    given = [number for number in dict.fromkeys(answer.order) if 1 <= number <= count]
    missing = [number for number in range(1, count + 1) if number not in set(given)]
    if 2 * len(missing) > count:
        raise ValueError(f"order must hold each number from 1 to {count} once")
    return [number - 1 for number in (*given, *missing)]
