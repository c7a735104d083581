"""Counts what AgentCF asks at most, before it asks."""

from propagation.adapters.openai.prompting import Prompt, count_tokens_in
from propagation.laboratory.agentcf.memory import HISTORY, TITLE_CHARS
from propagation.laboratory.agentcf.prompts import choose, rank, reflect
from propagation.laboratory.agentcf.prompts.reflect import Feedback
from propagation.laboratory.agentcf.prompts.shared import (
    EXPLANATION_CHARS,
    ITEM_MEMORY_CHARS,
    USER_MEMORY_CHARS,
)
from propagation.laboratory.agentcf.variant import Prompting, Variant
from propagation.laboratory.methods.asking import Calls

CHARS_A_TOKEN, FORM_TOKENS = 4, 60
ITEM_CHARS = ITEM_MEMORY_CHARS + TITLE_CHARS


def estimate_learning(variant: Variant, interactions: int, history: float) -> list[Calls]:
    """Count the most calls that some interactions take.

    A model that is always wrong takes six an interaction, with two rounds. One that is right with
    probability q takes 6 - 4q + q^2: three if the first choice is right, and five if the second is.

    Args:
        history: How many items a user has, on average.
    """
    user = _count_user_chars(variant, history)
    rounds = interactions * (variant.rounds if variant.interacts else 1)
    feedback = Feedback.WRONG if variant.interacts else Feedback.RECORD
    shown = user + 2 * ITEM_CHARS + EXPLANATION_CHARS
    asked = [
        (variant.interacts, choose.PROMPT, EXPLANATION_CHARS),
        (variant.user_agents, reflect.USER_PROMPTS[feedback], USER_MEMORY_CHARS),
        (variant.item_agents, reflect.ITEM_PROMPTS[feedback], ITEM_MEMORY_CHARS),
    ]
    return [
        count_calls(prompt, rounds, shown, answer) for is_asked, prompt, answer in asked if is_asked
    ]


def estimate_tests(variant: Variant, interactions: int, history: float) -> Calls:
    """Count the calls of one more choice after each interaction."""
    shown = _count_user_chars(variant, history) + 2 * ITEM_CHARS
    return count_calls(choose.PROMPT, interactions, shown, EXPLANATION_CHARS)


def estimate_ranking(
    variant: Variant, questions: int, candidates: int, history: float
) -> list[Calls]:
    """Count the calls of some rankings: one each."""
    prompting = variant.prompting if variant.user_agents else Prompting.HISTORY
    extra = {
        Prompting.BASIC: 0,
        Prompting.RETRIEVAL: USER_MEMORY_CHARS,
        Prompting.HISTORY: round(min(HISTORY, history) * ITEM_CHARS),
    }[prompting]
    own = USER_MEMORY_CHARS if variant.user_agents else 0
    return [
        count_calls(
            rank.PROMPTS[prompting],
            questions,
            own + extra + candidates * ITEM_CHARS,
            4 * candidates,
        )
    ]


def _count_user_chars(variant: Variant, history: float) -> int:
    """Return how many characters show a user.

    Without a memory it is half of a history, on average.
    """
    if variant.user_agents:
        return USER_MEMORY_CHARS
    return round(min(HISTORY, history / 2) * ITEM_CHARS)


def count_calls(prompt: Prompt, calls: int, shown_chars: int, answer_chars: int) -> Calls:
    """Return the costs of calls whose texts are the longest."""
    prompt_tokens = count_tokens_in(prompt.instructions) + shown_chars // CHARS_A_TOKEN
    return Calls(
        prompt.label,
        calls,
        calls * (prompt_tokens + FORM_TOKENS),
        calls * (answer_chars // CHARS_A_TOKEN + FORM_TOKENS // 3),
    )
