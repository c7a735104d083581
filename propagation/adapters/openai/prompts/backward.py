"""Prompt_gradient and Prompt_optimizer in one.

Source:
    RecNet, eq. 8 and 9; Algorithm 1, lines 9 and 10.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from propagation.adapters.openai.prompting import (
    RULES,
    USUAL_FORM,
    Edits,
    ExpectedPart,
    Letters,
    LineSubject,
    Prompt,
    Question,
    QuestionForm,
    TextCheck,
    build_own_edits,
    build_subject,
    drop_none,
    find_text_subjects,
    list_known_names,
    list_line_choices,
    list_line_names,
    narrow_edits,
    show_party,
)
from propagation.adapters.openai.prompts.gradient import (
    GRADIENT_HOW,
    OUTCOMES,
    ClientCredit,
    Messages,
    ProfileCredit,
    build_client_gradients,
    build_message_gradients,
    narrow_messages,
)
from propagation.adapters.openai.prompts.optimizer import (
    EDIT_HOW,
    RULE_HOW,
    RuleAnswers,
    build_rules,
    list_subjects,
)
from propagation.model import Gradient, ReasonWork
from propagation.ports import OptimizeAnswer, Party

PROMPT = Prompt(
    "backward@3",
    f"{RULES}\n{GRADIENT_HOW}Then carry out what you ask of each client:\n{EDIT_HOW}{RULE_HOW}",
)
NAMES = ("user", "chosen", "passed")


class ClientAnswer(NamedTuple):
    """A model's answer for one client."""

    gradients: Sequence[Gradient]
    optimized: OptimizeAnswer


class Unheard(ProfileCredit, stands_for="edits"):
    """Credit and edits of a client that heard nothing.

    Such a client has no filter to judge.
    """

    edits: Edits


class HeardClient(ClientCredit, stands_for="edits"):
    """Credit, edits and rules of a client that heard something."""

    edits: Edits
    rules: RuleAnswers


def build_question(
    work: ReasonWork,
    reward: int | None,
    parties: Mapping[str, Party],
    form: QuestionForm = USUAL_FORM,
) -> Question:
    """Ask about all parties.

    The answer has one part for each party, read as a ClientAnswer. If the parties heard messages,
    it also has a part `messages`, read as gradients.

    Args:
        reward: 1 or 0; None if nothing was predicted, and no gradients are kept.
        parties: By NAMES; "passed" only with a negative item.
    """
    letters = Letters(parties.values())
    known = list_line_names(parties.values())
    allowed = list_known_names(
        form,
        [party.client for party in parties.values()],
        letters.messages.values(),
        parties.values(),
    )
    parts = {
        name: _build_client_part(
            work,
            reward,
            party,
            letters,
            known,
            form,
            allowed,
            build_subject(party, parties.values()),
        )
        for name, party in parties.items()
    }
    if letters.messages:
        parts["messages"] = ExpectedPart(
            Messages,
            lambda answer, check: (
                [] if reward is None else build_message_gradients(work, letters, answer, check)
            ),
            **narrow_messages(letters),
        )
    return Question(
        PROMPT,
        drop_none(
            outcome=OUTCOMES[reward],
            messages=letters.show() or None,
            **{
                name: show_party(party, letters, titles=form.titles)
                for name, party in parties.items()
            },
        ),
        parts,
        find_text_subjects(
            form,
            [party.client for party in parties.values()],
            letters.messages.values(),
            parties.values(),
        ),
    )


def _build_client_part(
    work: ReasonWork,
    reward: int | None,
    party: Party,
    letters: Letters,
    known: frozenset[str],
    form: QuestionForm,
    allowed: Sequence[str],
    subject: LineSubject,
) -> ExpectedPart:
    narrowed = narrow_edits(form, allowed)
    if party.messages:
        narrowed["names"] = {**narrowed["names"], "about": list_subjects(party, letters)}

    def read(answer: Any, check: TextCheck) -> ClientAnswer:
        edits = build_own_edits(
            party.profile,
            answer.edits[: form.edits],
            letters,
            work.sequence,
            check,
            party.unshared,
            known,
            allowed,
            subject,
        )
        rules = (
            build_rules(work, party, letters, answer.rules[: form.edits], check)
            if party.messages
            else ()
        )
        gradients = (
            [] if reward is None else build_client_gradients(work, party, letters, answer, check)
        )
        return ClientAnswer(gradients, OptimizeAnswer(edits, rules))

    return ExpectedPart(
        HeardClient if party.messages else Unheard,
        read,
        choices=list_line_choices(party.profile, heard=False, hidden=party.unshared),
        **narrowed,
    )
