"""Collaborative reflection: memories are corrected after a choice.

The positive item's memory is updated by the user's new one, as in the published code. The negative
item is shown and not changed.

Source:
    AgentCF, section 3.2.3; `user_prompt_template`, `item_prompt_template` and their forms for a
    right choice (`_true`) in the published code.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from propagation.adapters.openai.prompting import Prompt, Question, drop_none
from propagation.laboratory.agentcf.prompts.shared import ITEM_MEMORY, RULES, USER_MEMORY


class Feedback(StrEnum):
    """How a choice compares with what the real user did."""

    WRONG = "wrong"
    RIGHT = "right"
    RECORD = "record"
    """No choice was made; the agents are given the record."""


WHAT_HAPPENED: Mapping[Feedback, str] = {
    Feedback.WRONG: """`user` is a person who considered two items and chose rejected_item, for the reason in `explanation`. In fact the person
does not like rejected_item and prefers liked_item: the choice was wrong, and the reason was mistaken.""",
    Feedback.RIGHT: """`user` is a person who considered two items and chose liked_item, for the reason in `explanation`. In fact the person likes
it very much, and does not like rejected_item: the choice was right, and so was the reason.""",
    Feedback.RECORD: """`user` is a person who considered two items, took liked_item and left rejected_item.""",
}
ANALYSE: Mapping[Feedback, str] = {
    Feedback.WRONG: "Find what was mistaken in the reason, and correct it.",
    Feedback.RIGHT: "Find what was right in the reason, and keep it.",
    Feedback.RECORD: "Find out why the person did so.",
}
OF_USER = """Update the person's self-introduction. {analyse} Add preferences by the features of liked_item, and dislikes by those of
rejected_item. Keep earlier preferences and dislikes that do not contradict them. `memory`: the new self-introduction, at most 180
words, in the first person: first the new preferences, then the earlier ones, then the dislikes. It describes features of items
only, no choice and no thinking. Be specific: leave out what does not tell this person from others."""
OF_ITEM = """Update the description of liked_item. {analyse} Add features that agree with the person's preferences and go against the
dislikes, so that it differs more from rejected_item. Keep what is valuable in its earlier description, which other people's
preferences have formed. `memory`: the new description of liked_item, at most 50 words. Others will read it: speak of people with
such preferences, never of this person. Do not contradict what the item is, and be specific."""


def _write_prompt(of: str, task: str, feedback: Feedback) -> Prompt:
    text = task.format(analyse=ANALYSE[feedback])
    return Prompt(f"agentcf-{of}-{feedback}@1", f"{RULES}\n{WHAT_HAPPENED[feedback]}\n\n{text}")


USER_PROMPTS = {one: _write_prompt("user", OF_USER, one) for one in Feedback}
ITEM_PROMPTS = {one: _write_prompt("item", OF_ITEM, one) for one in Feedback}


def build_user_question(
    feedback: Feedback,
    user: Mapping[str, Any],
    liked: Mapping[str, Any],
    rejected: Mapping[str, Any],
    explanation: str | None,
) -> Question:
    """Ask for a user's new memory, as the only part `user_reflection`."""
    data = _show(user, liked, rejected, explanation)
    return Question(USER_PROMPTS[feedback], data, {"user_reflection": USER_MEMORY})


def build_item_question(
    feedback: Feedback,
    user: Mapping[str, Any],
    liked: Mapping[str, Any],
    rejected: Mapping[str, Any],
    explanation: str | None,
) -> Question:
    """Ask for the positive item's new memory, as the only part `item_reflection`."""
    data = _show(user, liked, rejected, explanation)
    return Question(ITEM_PROMPTS[feedback], data, {"item_reflection": ITEM_MEMORY})


def _show(
    user: Mapping[str, Any],
    liked: Mapping[str, Any],
    rejected: Mapping[str, Any],
    explanation: str | None,
) -> Mapping[str, Any]:
    return drop_none(user=user, liked_item=liked, rejected_item=rejected, explanation=explanation)
