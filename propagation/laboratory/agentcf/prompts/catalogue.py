"""All prompts of AgentCF and its studies, whose texts decide results."""

from collections.abc import Sequence

from propagation.adapters.openai.prompting import Prompt
from propagation.laboratory.agentcf.prompts import (
    advertise,
    choose,
    express,
    learn,
    rank,
    reflect,
    review,
)


def list_prompts() -> Sequence[Prompt]:
    """List the prompts, in a fixed order."""
    return [
        choose.PROMPT,
        *reflect.USER_PROMPTS.values(),
        *reflect.ITEM_PROMPTS.values(),
        *rank.PROMPTS.values(),
        *review.REVIEW_PROMPTS.values(),
        review.DECIDE,
        learn.PROMPT,
        express.PROMPT,
        advertise.DRAFT,
        *advertise.CRITIQUE_PROMPTS.values(),
        advertise.REVISE,
        advertise.CHOOSE,
    ]
