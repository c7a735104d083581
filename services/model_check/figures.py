"""How good a model's answers are, and what they cost."""

import math
from collections import defaultdict
from collections.abc import Sequence
from itertools import groupby

from pydantic import BaseModel

from propagation.adapters.openai.prompting import find_named_title
from propagation.adapters.openai.prompts import extract
from propagation.model import NO_USAGE, LossReason, Usage
from propagation.optimization.prediction_quality import CHANCE
from services.model_check.observed_asker import AskedQuestion, Reading
from services.model_check.run import ChoiceAnswer, Measured

PREDICTION = "prediction"
DESCRIPTION = extract.PROMPT.label.partition("@")[0]


class Validity(BaseModel):
    """How many parts of the answers could be used.

    Attributes:
        parts: Parts that were asked for.
        accepted: Parts that the service would use as they are, at once or when asked again.
        texts: Parts with texts or attributes, which are all but predictions.
        echoes: Those of them that repeated the instructions or the outcome, in any answer.
        repetitions: Those that repeated themselves.
    """

    parts: int
    accepted: int
    texts: int
    echoes: int
    repetitions: int

    @property
    def accepted_share(self) -> float:
        return divide(self.accepted, self.parts)


class Choices(BaseModel):
    """The choices between two items (eq. 6), each asked in both orders.

    Attributes:
        asked: Two for each pair.
        answered: Choices with a usable answer; the shares are of these.
        right: Share of choices of the item that the user chose.
        error: Standard error of `right`, over pairs, because a pair's two answers depend on each
            other; None with fewer than two pairs.
        first: Share of answers that name the item shown first.
        pairs: Pairs of which both choices are answered.
        by_place: Share of these pairs whose answer follows the place, not the item.
    """

    asked: int
    answered: int
    right: float | None
    error: float | None
    first: float | None
    pairs: int
    by_place: float | None

    @property
    def beats_chance(self) -> bool:
        """Whether it is right more often than chance, by two standard errors."""
        return (
            self.right is not None
            and self.error is not None
            and self.right - CHANCE > 2 * self.error
        )


class Names(BaseModel):
    """Whether descriptions name their own items.

    The first answer counts, before the service asks again and falls back on the catalogue.

    Attributes:
        clients_a_call: How many clients a call described.
        items: Items with a title.
        own: Items whose lines name them.
        other: Items whose lines name another item of the call, and not their own.
    """

    clients_a_call: int
    items: int
    own: int
    other: int


class Cost(BaseModel):
    """What one kind of work costs, on average.

    Attributes:
        work: "choice", "interaction", or "description by N", a call about N clients (fewer than
            were to be described at once if more do not fit into the context).
        questions: How often it was measured.
        calls: Calls for one, with those that asked again.
        seconds_a_call: Time of a call, with `in_flight` calls at once.
        seconds: Time of all calls for one.
        prompt_tokens: For one; likewise the others.
    """

    work: str
    questions: int
    calls: float
    seconds_a_call: float
    seconds: float
    prompt_tokens: float
    completion_tokens: float
    money: float


class EndpointPace(BaseModel):
    """How many calls ran at once, and what that brought.

    Attributes:
        in_flight: The most calls at once, as the settings say.
        at_once: How many ran at once on average.
        seconds_alone: A choice's call while no other ran (the median).
        seconds_together: The same with others.
        capacity: About how many calls the server answers in the time of one.
    """

    in_flight: int
    at_once: float
    seconds_alone: float
    seconds_together: float
    capacity: float


class Figures(BaseModel):
    """Everything that a check measured.

    Attributes:
        context_tokens: For each number of clients a call (0: all other questions), the most tokens
            that a prompt and its allowed answer take.
    """

    validity: Validity
    choices: Choices
    names: list[Names]
    costs: list[Cost]
    pace: EndpointPace
    context_tokens: dict[int, int]


def compute_figures(measured: Measured, in_flight: int) -> Figures:
    """Compute the figures of a check."""
    choices = [one.usage for one in measured.choices]
    together = _average("choice", choices[len(measured.alone) :])
    described = defaultdict(list)
    for asked in filter(_is_description, measured.questions):
        described[len(asked.question.parts)].append(asked.usage)
    return Figures(
        validity=_compute_validity(measured.questions),
        choices=compute_choices(measured.choices),
        names=_compute_names(measured.questions),
        costs=[
            _average("choice", choices),
            _average("interaction", measured.interactions),
            *(_average(f"description by {size}", described[size]) for size in sorted(described)),
        ],
        pace=_compute_pace(measured, in_flight, together.seconds_a_call),
        context_tokens=_compute_context_tokens(measured.questions),
    )


def divide(part: float, whole: float) -> float:
    """Return a share; 0 of nothing."""
    return part / whole if whole else 0.0


def _compute_validity(questions: Sequence[AskedQuestion]) -> Validity:
    parts = [(asked, name) for asked in questions for name in asked.question.parts]
    texts = [asked.readings[name] for asked, name in parts if name != PREDICTION]

    def count(reason: LossReason) -> int:
        return sum(any(reason in reading.refused for reading in readings) for readings in texts)

    return Validity(
        parts=len(parts),
        accepted=sum(asked.is_accepted(name) for asked, name in parts),
        texts=len(texts),
        echoes=count(LossReason.ECHO),
        repetitions=count(LossReason.REPETITION),
    )


def compute_choices(choices: Sequence[ChoiceAnswer]) -> Choices:
    """Compute how often choices were right or followed the place."""
    answered = sorted(
        (one for one in choices if one.picked_first is not None), key=lambda one: one.pair
    )
    by_pair = [list(ones) for _, ones in groupby(answered, key=lambda one: one.pair)]
    whole = [ones for ones in by_pair if len(ones) == 2]
    followed = sum(first.picked_first == second.picked_first for first, second in whole)
    return Choices(
        asked=len(choices),
        answered=len(answered),
        right=sum(one.is_right for one in answered) / len(answered) if answered else None,
        error=_compute_error([[float(one.is_right) for one in ones] for ones in by_pair]),
        first=sum(bool(one.picked_first) for one in answered) / len(answered) if answered else None,
        pairs=len(whole),
        by_place=followed / len(whole) if whole else None,
    )


def _compute_error(clusters: Sequence[Sequence[float]]) -> float | None:
    """Return the standard error of a mean of clustered values.

    Values of one cluster depend on each other.
    """
    count = sum(map(len, clusters))
    if len(clusters) < 2:
        return None
    mean = sum(map(sum, clusters)) / count
    squares = sum((sum(values) - mean * len(values)) ** 2 for values in clusters)
    return math.sqrt(squares * len(clusters) / (len(clusters) - 1)) / count


def _compute_names(questions: Sequence[AskedQuestion]) -> list[Names]:
    found: dict[int, list[str]] = defaultdict(list)
    for asked in filter(_is_description, questions):
        titles = {
            place: asked.question.data[name].get("title", "")
            for place, name in enumerate(asked.readings)
        }
        for place, readings in enumerate(asked.readings.values()):
            if titles[place]:
                others = extract.list_others(place, titles)
                text = " ".join(_list_first_lines(readings))
                found[len(titles)].append(_find_named(text, titles[place], others))
    return [
        Names(
            clients_a_call=size,
            items=len(named),
            own=named.count("own"),
            other=named.count("other"),
        )
        for size, named in sorted(found.items())
    ]


def _is_description(asked: AskedQuestion) -> bool:
    return asked.question.prompt.label.startswith(DESCRIPTION)


def _list_first_lines(readings: Sequence[Reading]) -> list[str]:
    return [line.text for line in readings[0].answer.lines] if readings else []


def _find_named(text: str, title: str, others: Sequence[str]) -> str:
    named = find_named_title(text, title, others)
    return "" if named is None else "own" if named == title else "other"


def _average(work: str, usages: Sequence[Usage]) -> Cost:
    total, count = sum(usages, NO_USAGE).total, max(1, len(usages))
    return Cost(
        work=work,
        questions=len(usages),
        calls=total.calls / count,
        seconds_a_call=divide(total.seconds, total.calls),
        seconds=total.seconds / count,
        prompt_tokens=total.prompt_tokens / count,
        completion_tokens=total.completion_tokens / count,
        money=total.money / count,
    )


def _compute_pace(measured: Measured, in_flight: int, seconds_together: float) -> EndpointPace:
    alone = sorted(divide(usage.total.seconds, usage.total.calls) for usage in measured.alone)
    seconds_alone = alone[len(alone) // 2]
    seconds_together = seconds_together or seconds_alone  # with few users all were asked alone
    at_once = max(1.0, divide(measured.busy_seconds, measured.wall_seconds))
    return EndpointPace(
        in_flight=in_flight,
        at_once=at_once,
        seconds_alone=seconds_alone,
        seconds_together=seconds_together,
        capacity=max(1.0, at_once * min(1.0, divide(seconds_alone, seconds_together))),
    )


def _compute_context_tokens(questions: Sequence[AskedQuestion]) -> dict[int, int]:
    most: dict[int, int] = {}
    for asked in questions:
        size = len(asked.question.parts) if _is_description(asked) else 0
        total = asked.usage.total
        prompt = math.ceil(divide(total.prompt_tokens, total.calls))
        most[size] = max(most.get(size, 0), prompt + asked.question.most_tokens)
    return most
