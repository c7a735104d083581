"""Inference: one call ranks the candidates by the agents' memories.

Source:
    AgentCF, section 3.3; `system_prompt_template_evaluation_*` of the published code.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from propagation.adapters.openai.prompting import (
    Answer,
    ExpectedPart,
    Number,
    Prompt,
    Question,
    limit_length,
    to_list,
)
from propagation.laboratory.agentcf.prompts.shared import RULES
from propagation.laboratory.agentcf.variant import Prompting

MOST_CANDIDATES = 1_000
SHOWN: Mapping[Prompting, str] = {
    Prompting.BASIC: "",
    Prompting.RETRIEVAL: """
`earlier` is what the person said before of things like these. Go by the present self-introduction first, and by `earlier` where
that decides nothing.""",
    Prompting.HISTORY: """
`history` holds what the person took before, the oldest first. Consider how the candidates relate to it, too.""",
}
TASK = """`user` is a person who looks for something in candidate_items. Compare the candidates by the person's preferences and dislikes.
{shown}
`order`: the number of every candidate exactly once, the best first."""
PROMPTS = {
    one: Prompt(f"agentcf-rank-{one.name.lower()}@1", f"{RULES}\n{TASK.format(shown=SHOWN[one])}")
    for one in Prompting
}


class Order(Answer, stands_for="order"):
    """The candidates' numbers, best first."""

    order: Annotated[
        list[Number],
        BeforeValidator(to_list),
        Field(default_factory=list),
        limit_length(MOST_CANDIDATES, least=1),
    ]


def build_question(
    prompting: Prompting, user: Mapping[str, Any], candidates: Sequence[Mapping[str, Any]]
) -> Question:
    """Ask for an order of the candidates, as the only part `recommendation`."""
    count = len(candidates)
    return Question(
        PROMPTS[prompting],
        {
            "user": user,
            "candidate_items": {str(place): one for place, one in enumerate(candidates, 1)},
        },
        {
            "recommendation": ExpectedPart(
                Order,
                lambda answer, check: read_order(answer, count),
                choices={"order": range(1, count + 1)},
                lengths={"order": (count, count)},
            )
        },
    )


def read_order(answer: Order, count: int) -> list[int]:
    """Return the places of the candidates (from 0), best first.

    A number that comes twice counts where it comes first. Nothing is added to an order.

    Raises:
        ValueError: A number is missing, or stands for no candidate.
    """
    given = list(dict.fromkeys(answer.order))
    if sorted(given) != list(range(1, count + 1)):
        raise ValueError(f"order must hold each number from 1 to {count} once")
    return [number - 1 for number in given]
