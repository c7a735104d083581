"""Prompt_optimizer (eq. 9): a profile and a filter memory after an interaction."""

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import BeforeValidator

from propagation.adapters.openai.prompting import (
    LETTER,
    LINE_CHARS,
    NAME_CHARS,
    RULES,
    USUAL_FORM,
    Answer,
    Edits,
    ExpectedPart,
    Letters,
    Prompt,
    Question,
    QuestionForm,
    Several,
    TextCheck,
    Words,
    build_own_edits,
    build_subject,
    find_letter_in,
    find_text_subjects,
    limit_chars,
    limit_length,
    limit_words,
    list_known_names,
    list_line_choices,
    list_line_names,
    list_message_names,
    narrow_edits,
    quote_as_data,
    read_word,
    select_schema_names,
    show_party,
)
from propagation.adapters.openai.prompts.gradient import OUTCOMES
from propagation.model import FilterRule, Gradient, ReasonWork, normalize_name
from propagation.ports import OptimizeAnswer, Party

RULES_A_CALL, RULE_WORDS, EVIDENCE, SUBJECTS = 2, 25, 8, 12
FACTORS = {"more": 1.25, "less": 0.8}
LEFT_OUT = 0.4
EDIT_HOW = """- `edits`: at most two changes of the client's profile that carry this out. `op` add with `line` 0 adds a line;
replace or drop changes the line of that number: rather replace a line on the same subject than add one. `text`: at most 25
words on its lasting taste (a user), or on whom it pleases and why (an item), not on the event. `attributes`: 1 to 4 short
names, in lower case, of the concepts in the text. Leave `edits` empty where nothing is learned.
"""
RULE_HOW = """- `rules`, only where the client has `messages`: at most two changes of how far it trusts what it hears. `about`: a
message's name or one attribute; `weigh`: more, less or never; `text`: the rule, in at most 25 words. May be empty.
"""
MET = (
    RULES
    + "\n`outcome` says what happened to `client`, and `gradients` what it should do about it. Answer:\n"
)
PROFILE = Prompt("optimizer_profile@3", MET + EDIT_HOW)
FILTER = Prompt("optimizer_filter@3", MET + RULE_HOW)


WEIGHS = {
    "higher": "more",
    "up": "more",
    "trust": "more",
    "lower": "less",
    "down": "less",
    "distrust": "less",
    "ignore": "never",
    "none": "never",
    "drop": "never",
}


class RuleAnswer(Answer):
    """A rule of a filter memory."""

    about: Annotated[str, BeforeValidator(str), limit_chars(NAME_CHARS)]
    weigh: Annotated[
        Literal["more", "less", "never"], BeforeValidator(lambda value: read_word(value, WEIGHS))
    ]
    text: Words = ""


RuleAnswers = Annotated[Several[RuleAnswer], limit_length(RULES_A_CALL)]


class ProfileEdits(Answer, stands_for="edits"):
    """The edits of a profile."""

    edits: Edits


class FilterRules(Answer, stands_for="rules"):
    """The rules of a filter memory."""

    rules: RuleAnswers


def build_profile_question(
    work: ReasonWork,
    reward: int | None,
    name: str,
    party: Party,
    other: Party,
    gradients: Sequence[Gradient],
    form: QuestionForm = USUAL_FORM,
) -> Question:
    """Ask for the edits of a client's profile.

    The answer has one part, `client`.

    Args:
        name: The client's role, a key of backward.NAMES.
        other: The client that it met: the chosen item for the user, or else the user.
        gradients: Those of this client's profile and filter memory.
    """
    allowed = list_known_names(form, [other.client, party.client], (), [party, other])

    def read(answer: ProfileEdits, check: TextCheck) -> OptimizeAnswer:
        known = list_line_names([party, other])
        return OptimizeAnswer(
            build_own_edits(
                party.profile,
                answer.edits[: form.edits],
                Letters(()),
                work.sequence,
                check,
                known=known,
                allowed=allowed,
                subject=build_subject(party, [party, other]),
            )
        )

    return Question(
        PROFILE,
        {
            "outcome": OUTCOMES[reward],
            "client_is": name,
            "client": show_party(party, whole=True, titles=form.titles),
            "it_met": show_party(other, titles=form.titles),
            "gradients": show_gradients(gradients),
        },
        {
            "client": ExpectedPart(
                ProfileEdits,
                read,
                choices=list_line_choices(party.profile, heard=False),
                **narrow_edits(form, allowed),
            )
        },
        find_text_subjects(form, [other.client, party.client], (), [party, other]),
    )


def filter_question(
    work: ReasonWork,
    reward: int | None,
    name: str,
    party: Party,
    gradients: Sequence[Gradient],
    form: QuestionForm = USUAL_FORM,
) -> Question:
    """Ask for the filter rules of a client that heard something.

    The answer has one part, `client`.
    """
    letters = Letters([party])

    def read(answer: FilterRules, check: TextCheck) -> OptimizeAnswer:
        rules = answer.rules[: form.edits]
        return OptimizeAnswer((), build_rules(work, party, letters, rules, check))

    return Question(
        FILTER,
        {
            "outcome": OUTCOMES[reward],
            "client_is": name,
            "messages": letters.show(),
            "client": show_party(party, letters, titles=form.titles),
            "gradients": show_gradients(gradients),
        },
        {
            "client": ExpectedPart(
                FilterRules,
                read,
                lengths=narrow_edits(form)["lengths"],
                names={"about": list_subjects(party, letters)},
            )
        },
    )


def list_subjects(party: Party, letters: Letters) -> list[str]:
    """List what a rule may be about.

    These are the client's messages, the attributes of its rules, and those of the messages.
    """
    heard = letters.list_heard_by(party)
    ruled = (rule.attribute for rule in party.filter_memory.rules if rule.attribute)
    names = select_schema_names((*ruled, *list_message_names(heard.values())), SUBJECTS)
    return [*heard, *(name for name in names if not LETTER.fullmatch(name.upper()))]


def show_gradients(gradients: Sequence[Gradient]) -> list[str]:
    """Show gradients as data.

    The model that wrote them may have repeated what users wrote.
    """
    return [quote_as_data(gradient.text, LINE_CHARS) for gradient in gradients]


def build_rules(
    work: ReasonWork,
    party: Party,
    letters: Letters,
    answers: Sequence[RuleAnswer],
    check: TextCheck,
) -> list[FilterRule]:
    """Turn the answer into rules.

    A rule about a message becomes a rule about its router; any other name is an attribute. A rule
    about another client's message, or about a whole sentence, is left out. A degenerate text
    is replaced by a plain one.
    """
    routers = {letter: message.router for letter, message in letters.list_heard_by(party).items()}
    rules: list[FilterRule] = []
    for answer in answers[:RULES_A_CALL]:
        router = routers.get(find_letter_in(answer.about, routers) or "")
        attribute = None
        if router is None and not LETTER.search(answer.about.upper()):
            [about] = check.keep_names([answer.about]) or [""]
            attribute = normalize_name(about)
        if router is None and (not attribute or len(attribute.split()) > 5):
            continue  # another client's message, or a sentence
        old = next(
            (rule for rule in party.filter_memory.rules if rule.target == (router, attribute)), None
        )
        factor = LEFT_OUT
        if answer.weigh != "never":
            factor = (old.factor if old else 1.0) * FACTORS[answer.weigh]
        text = (
            letters.spell(check.keep_text(answer.text))
            or f"Weigh what is said of {attribute or 'this'} {answer.weigh}."
        )
        rules.append(
            FilterRule(
                router=router,
                attribute=attribute,
                factor=factor,
                text=limit_words(text, RULE_WORDS),
                age=work.sequence,
                evidence=(*(old.evidence if old else ()), work.sequence)[-EVIDENCE:],
            )
        )
    return rules
