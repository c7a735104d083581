"""A new item's agent learns from a popular one.

Source:
    AgentCF 4.4.2 (item-item interaction). Its prompt is in an appendix that is not at hand.
"""

from collections.abc import Mapping
from typing import Any

from propagation.adapters.openai.prompting import Prompt, Question
from propagation.laboratory.agentcf.prompts.shared import ITEM_MEMORY, RULES

PROMPT = Prompt(
    "agentcf-learn@1",
    RULES
    + """
`new_item` was never taken by anyone: of it only the catalogue's text is known. `popular_item` was taken by many, and its description
tells who they are and why. Consider how the two relate, and estimate who will take new_item. `memory`: the new description of
new_item, at most 50 words: what it is, and people of which preferences it suits. Do not copy what holds for popular_item only, and do
not contradict what new_item is.""",
)


def build_question(new: Mapping[str, Any], popular: Mapping[str, Any]) -> Question:
    """Ask for a new item's memory, as the only part `learned`."""
    return Question(PROMPT, {"new_item": new, "popular_item": popular}, {"learned": ITEM_MEMORY})
