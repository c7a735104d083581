"""Prompt_summarize (eq. 3): routers take new attributes into their profiles."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any

from propagation.adapters.openai.prompting import (
    MESSAGE_CHARS,
    RULES,
    TITLE_CHARS,
    USUAL_FORM,
    Answer,
    DegenerateText,
    ExpectedPart,
    Prompt,
    Question,
    QuestionForm,
    TextCheck,
    TextSubjects,
    drop_none,
    has_exactly,
    is_like_title,
    limit_chars,
    limit_words,
    list_foreign_titles,
    quote_as_data,
    show_counts,
)
from propagation.model import LossReason, rank_by_distinctiveness
from propagation.ports import Integration, Summary

NAME_WORDS, TEXT_WORDS, ROUTER_NAME_CHARS = 6, 60, 60
LEAST_WORDS, LEAST_CHARS = 4, 40
"""A text with fewer of both says nothing to a community; some scripts have no spaces."""
STANDING, ARRIVED, EXAMPLES = 8, 12, 3
PROMPT = Prompt(
    "summarize@3",
    RULES
    + """
Each router in the data speaks for a community of users and items: `called` is its name, `before` what it said last, `stands_for`
what its members hold, most telling first, `arrived` what clients newly brought and how many did, `seen_around` some items. Write for
each router: `name`, at most 6 words that set it apart, which stays as in `called` unless that no longer fits; `text`, 40 to 60 words
to its members on what they share and what is new among them. Speak of tastes and items, never of single users; say nothing that the
data does not say.""",
)


class Router(Answer):
    """A router's name and text."""

    name: Annotated[str, limit_chars(ROUTER_NAME_CHARS)]
    text: Annotated[str, limit_chars(MESSAGE_CHARS)]


def build_question(routers: Sequence[Integration], form: QuestionForm = USUAL_FORM) -> Question:
    """Ask for one part for each router, in order: router_1, router_2, ..."""
    named = [
        name
        for one in (routers if form.known_attributes else ())
        for name in (*one.standing, *one.arrived)
    ]
    return Question(
        PROMPT,
        {f"router_{place}": _show(one) for place, one in enumerate(routers, 1)},
        {
            f"router_{place}": ExpectedPart(
                Router, partial(read_summary, foreign=_list_foreign_titles(one, routers))
            )
            for place, one in enumerate(routers, 1)
        },
        TextSubjects(
            [title for one in routers for title in one.examples],
            named,
            [text for one in routers if one.before for text in (one.before.name, one.before.text)],
        ),
    )


def _list_foreign_titles(router: Integration, routers: Sequence[Integration]) -> list[str]:
    """List titles of other routers' items that a router's data lacks."""
    before = (router.before.name, router.before.text) if router.before else ()
    own = (*before, *router.standing, *router.arrived)
    others = [title for other in routers if other is not router for title in other.examples]
    return list_foreign_titles(own, router.examples, others)


def _show(one: Integration) -> dict[str, Any]:
    distinctive = rank_by_distinctiveness(one.standing, one.common)[:STANDING]
    return drop_none(
        called=quote_as_data(one.before.name, ROUTER_NAME_CHARS)
        if one.before and one.before.name
        else None,
        before=quote_as_data(one.before.text, MESSAGE_CHARS) if one.before else None,
        stands_for=[quote_as_data(name, TITLE_CHARS) for name in distinctive],
        arrived=show_counts(one.arrived, ARRIVED),
        seen_around=[quote_as_data(title, TITLE_CHARS) for title in one.examples[:EXAMPLES]]
        or None,
    )


def read_summary(answer: Router, check: TextCheck, foreign: Sequence[str] = ()) -> Summary:
    """Turn the answer into a bounded name and text.

    Args:
        foreign: Titles that only other routers of the call have.

    Raises:
        ValueError: The name or the text is empty, too short or degenerate, or names a foreign
            title.
    """
    name, text = limit_words(answer.name, NAME_WORDS), limit_words(answer.text, TEXT_WORDS)
    if not name or not text:
        raise ValueError("name or text is empty")
    if len(text.split()) < LEAST_WORDS and len(text) < LEAST_CHARS:
        raise ValueError("text has few words: write 40 to 60")
    if is_like_title(text):
        raise DegenerateText(LossReason.BARE_TITLE)
    if any(has_exactly(said, title) for said in (name, text) for title in foreign):
        raise DegenerateText(LossReason.OTHER_ITEM)
    summary = Summary(check.require_text(name), check.require_text(text))
    check.require_subject(f"{name} {text}")
    return summary
