"""Prompt_gradient (eq. 8): for each module a textual reward and a suggestion."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator

from propagation.adapters.openai.prompting import (
    NAME_CHARS,
    RULES,
    USUAL_FORM,
    Answer,
    ExpectedPart,
    Letters,
    Prompt,
    Question,
    QuestionForm,
    Several,
    TextCheck,
    Truth,
    Words,
    find_letter_in,
    find_text_subjects,
    limit_chars,
    limit_length,
    limit_words,
    show_party,
)
from propagation.model import Gradient, Module, ReasonWork, keep_first
from propagation.ports import Party

SUGGESTION_WORDS, GRADIENT_CHARS, MESSAGES = 16, 120, 12
GRADIENT_HOW = """`outcome` says what happened. Judge each client and each message.
- For a client: `helped`, whether its profile spoke for what happened; `gradient`, an order of at most 12 words on what its
profile should keep or change; where it has `messages`, `filter_gradient`, the same on which of them to trust more or less.
- In `heard`, for each message: its name as `message`; `helped`, whether it spoke of what was chosen; `gradient`, at most 12
words on what its community should say differently.
"""
# Descriptions of the outcome, by the reward; None: nothing was predicted.
OUTCOMES: Mapping[int | None, str] = {
    None: "The user chose the item `chosen`.",
    0: "The user chose the item `chosen` and passed over `passed`. This was not foreseen: `passed` was expected.",
    1: "The user chose the item `chosen` and passed over `passed`. This was foreseen.",
}
PROMPT = Prompt("gradient@2", RULES + "\n" + GRADIENT_HOW)


class ProfileCredit(Answer):
    """The reward and the gradient of a profile."""

    helped: Truth = True
    gradient: Annotated[Words, limit_chars(GRADIENT_CHARS)] = ""


class ClientCredit(ProfileCredit):
    """The reward and the gradients of a profile and a filter memory."""

    filter_gradient: Annotated[Words, limit_chars(GRADIENT_CHARS)] = ""


class MessageCredit(Answer):
    """The reward and the gradient of the router that sent a message."""

    message: Annotated[str, BeforeValidator(str), limit_chars(NAME_CHARS)]
    helped: Truth = True
    gradient: Annotated[Words, limit_chars(GRADIENT_CHARS)] = ""


class Messages(Answer, stands_for="heard"):
    """The rewards and the gradients of all routers that were heard."""

    heard: Annotated[Several[MessageCredit], limit_length(MESSAGES)]


def build_question(
    work: ReasonWork, reward: int, name: str, party: Party, form: QuestionForm = USUAL_FORM
) -> Question:
    """Ask for the rewards and gradients of one client and its messages.

    The answer has a part `client` and, if the client heard messages, a part `messages`.
    """
    letters = Letters([party])
    parts = {
        "client": ExpectedPart(
            ClientCredit if party.messages else ProfileCredit,
            lambda answer, check: build_client_gradients(work, party, letters, answer, check),
        )
    }
    if party.messages:
        parts["messages"] = ExpectedPart(
            Messages,
            lambda answer, check: build_message_gradients(work, letters, answer, check),
            **narrow_messages(letters),
        )
    return Question(
        PROMPT,
        {
            "outcome": OUTCOMES[reward],
            "client_is": name,
            "messages": letters.show(),
            "client": show_party(party, letters, titles=form.titles),
        },
        parts,
        find_text_subjects(form, [party.client], letters.messages.values(), [party]),
    )


def narrow_messages(letters: Letters) -> dict[str, Any]:
    """Narrow a part with a credit for each message.

    Returns:
        The fields `choices` and `lengths` of ExpectedPart.
    """
    names = list(letters.messages)
    return {"choices": {"message": names}, "lengths": {"heard": (0, len(names))}}


def build_client_gradients(
    work: ReasonWork, party: Party, letters: Letters, answer: ProfileCredit, check: TextCheck
) -> list[Gradient]:
    """Turn the answer into gradients of a client's modules.

    The modules are the profile and, if the client heard something, the filter memory. A module
    without a suggestion gets no gradient.
    """
    suggestions = [(Module.PROFILE, answer.gradient)]
    if isinstance(answer, ClientCredit):
        suggestions.append((Module.FILTER_MEMORY, answer.filter_gradient))
    return [
        Gradient(
            sequence=work.sequence,
            module=module,
            owner=party.client.ref,
            writer=work.user,
            reward=int(answer.helped),
            text=limit_words(letters.spell(text), SUGGESTION_WORDS),
        )
        for module, suggestion in suggestions
        if (text := check.keep_gradient(suggestion.strip()))
    ]


def build_message_gradients(
    work: ReasonWork, letters: Letters, answer: Messages, check: TextCheck
) -> list[Gradient]:
    """Turn the answer into one gradient for each router that was judged."""
    by_router = keep_first(
        (
            message.router,
            Gradient(
                sequence=work.sequence,
                module=Module.ROUTER,
                owner=message.router,
                writer=work.user,
                reward=int(one.helped),
                text=limit_words(letters.spell(text), SUGGESTION_WORDS),
                attributes=message.attributes[:8],
            ),
        )
        for one in answer.heard
        for message in [letters.messages.get(find_letter_in(one.message, letters.messages) or "")]
        if message is not None and (text := check.keep_gradient(one.gradient.strip()))
    )
    return list(by_router.values())
