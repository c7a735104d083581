"""Prompt_optimizer (eq. 9): a client's profile and filter memory after an interaction, by its gradients."""

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator

from propagation.adapters.openai.data import lettered
from propagation.adapters.openai.data import party as shown
from propagation.adapters.openai.prompts.answer import Answer, Several, Words
from propagation.adapters.openai.prompts.gradient import outcome
from propagation.adapters.openai.prompts.lines import Edits, own_edits, usable, words
from propagation.adapters.openai.prompts.prompt import RULES, Prompt, Question, Wanted
from propagation.model.attribute import normalised
from propagation.model.filter_memory import FilterRule
from propagation.model.gradient import Gradient
from propagation.model.text import ReasonWork
from propagation.ports.reasoner import OptimizeAnswer, Party

RULES_A_CALL, RULE_WORDS, EVIDENCE = 2, 25, 8
PROFILE_TOKENS, RULES_TOKENS = 160, 110
FACTORS = {"more": 1.25, "less": 0.8}
LEFT_OUT = 0.4
EDIT_HOW = """`edits`: at most two changes of its profile. Add a line (`line`: 0), or replace or drop one by its number. A line has
at most 25 words and says what the client now shows of its taste (a user) or of whom it pleases and why (an item): what lasts, not
that something happened. Give it 1 to 4 `attributes`, short names of the concepts it speaks of, in lower case. Join what belongs
together by replacing; no edit is a good answer where nothing is learned.
"""
RULE_HOW = """`rules`: at most two changes of how a client that has `messages` trusts what it hears. `about` names a message or one
attribute, `weigh` says more, less or never, `text` says it as a rule of at most 25 words. None is a good answer.
"""
MET = RULES + "\nThe client met the others as told in `outcome`; `gradients` advise it.\n"
PROFILE = Prompt("optimizer_profile", 1, MET + EDIT_HOW)
FILTER = Prompt("optimizer_filter", 1, MET + RULE_HOW)


WEIGHS = {"higher": "more", "up": "more", "trust": "more", "lower": "less", "down": "less", "distrust": "less", "ignore": "never",
          "none": "never", "drop": "never"}


def _weigh(value: Any) -> str:
    said = str(value).strip().lower()
    return WEIGHS.get(said, said)


class RuleAnswer(Answer):
    about: Annotated[str, BeforeValidator(str)]
    weigh: Annotated[Literal["more", "less", "never"], BeforeValidator(_weigh)]
    text: Words = ""


RuleAnswers = Several[RuleAnswer]


class ProfileEdits(Answer):
    stands_for: ClassVar[str] = "edits"
    edits: Edits


class FilterRules(Answer):
    stands_for: ClassVar[str] = "rules"
    rules: RuleAnswers


def profile_question(work: ReasonWork, reward: int | None, name: str, party: Party, other: Party,
                     gradients: Sequence[Gradient]) -> Question:
    """One part: client."""
    data = {"outcome": outcome(reward), "client_is": name, "client": shown(party, lettered([party])[0]),
            "it_met": shown(other, lettered([other])[0]), "gradients": [gradient.text for gradient in gradients]}
    return Question(PROFILE, data, {"client": Wanted(ProfileEdits, lambda answer: edits_of(work, party, answer.edits))},
                    PROFILE_TOKENS)


def filter_question(work: ReasonWork, reward: int | None, name: str, party: Party, gradients: Sequence[Gradient]) -> Question:
    """One part: client. Only for a client that heard something."""
    letters, said = lettered([party])
    data = {"outcome": outcome(reward), "client_is": name, "messages": said, "client": shown(party, letters),
            "gradients": [gradient.text for gradient in gradients]}
    return Question(FILTER, data, {"client": Wanted(FilterRules, lambda answer: rules_of(work, party, letters, answer.rules))},
                    RULES_TOKENS)


def edits_of(work: ReasonWork, party: Party, answers: Any) -> OptimizeAnswer:
    usable(answers, len(party.profile.lines))
    return OptimizeAnswer(own_edits(party.profile, answers, work.sequence))


def rules_of(work: ReasonWork, party: Party, letters: dict[tuple[int, int], str],
             answers: Sequence[RuleAnswer]) -> OptimizeAnswer:
    """A rule about a message is about its router; any other name is an attribute."""
    routers = {letters[message.router, message.version]: message.router for message in party.messages}
    rules: list[FilterRule] = []
    for answer in answers[:RULES_A_CALL]:
        router = routers.get(answer.about.strip().upper())
        attribute = None if router is not None else normalised(answer.about)
        if router is None and (not attribute or len(attribute.split()) > 5):
            continue
        old = next((rule for rule in party.filter_memory.rules if rule.target == (router, attribute)), None)
        factor = LEFT_OUT if answer.weigh == "never" else (old.factor if old else 1.0) * FACTORS[answer.weigh]
        text = words(answer.text, RULE_WORDS) or f"Weigh {answer.about} {answer.weigh}."
        rules.append(FilterRule(router=router, attribute=attribute, factor=factor, text=text, age=work.sequence,
                                evidence=(*(old.evidence if old else ()), work.sequence)[-EVIDENCE:]))
    return OptimizeAnswer((), rules)
