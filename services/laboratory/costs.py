"""What a run will cost, before it starts."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from propagation.datasets.dataset import Dataset
from propagation.laboratory.methods import Method, MethodNotInstalled
from propagation.laboratory.methods.asking import Calls, asks_model
from propagation.laboratory.protocols.protocol import EstimatingProtocol, Protocol
from propagation.laboratory.runs.run import has_result, list_parts
from propagation.plurals import pluralize
from services.laboratory.model import LabModel


class PartEstimate(NamedTuple):
    """What one method will ask with one seed.

    Attributes:
        calls: By prompt; empty if it asks no model, or if its result is there.
    """

    method: str
    seed: int
    calls: Sequence[Calls]

    @property
    def total(self) -> int:
        """The number of calls."""
        return sum(one.calls for one in self.calls)


def estimate_parts(
    folder: Path,
    dataset: Dataset,
    protocol: Protocol,
    methods: Sequence[Method],
    seeds: Sequence[int],
) -> list[PartEstimate]:
    """Estimate a run's parts, in the order in which they run.

    Args:
        folder: Of the run; it may not exist yet.
    """
    history, targets = protocol.split(dataset)
    out = []
    for method, seed in list_parts(methods, seeds):
        calls: Sequence[Calls] = ()
        if (
            asks_model(method)
            and isinstance(protocol, EstimatingProtocol)
            and not _is_done(folder, method, seed, protocol)
        ):
            calls = protocol.estimate(method, history, targets, seed)
        out.append(PartEstimate(method.name, seed, calls))
    return out


def _is_done(folder: Path, method: Method, seed: int, protocol: Protocol) -> bool:
    try:
        return has_result(folder, method, seed, protocol.measures)
    except MethodNotInstalled:
        return True  # it will not run


def describe_costs(
    parts: Sequence[PartEstimate], model: LabModel, seconds_a_call: float | None
) -> list[str]:
    """Describe what methods will ask, in lines.

    Answers that an earlier run kept cost nothing, and unusable ones are asked for once more; how
    many there are of either is not known here.

    Args:
        seconds_a_call: As measured in this run's folder; None: not known.
    """
    lines = []
    everything: list[Calls] = []
    for name in dict.fromkeys(part.method for part in parts if part.total):
        calls = [one for part in parts if part.method == name for one in part.calls]
        everything += calls
        lines.append(f"{name}: about {_describe(calls, model)}")
    seconds = _estimate_seconds(sum(one.calls for one in everything), model, seconds_a_call)
    time = (
        f"time not known before {model.name} has answered, {pluralize(model.in_flight, 'call')} at"
        " a time"
        if seconds is None
        else f"about {_describe_seconds(seconds)}"
    )
    return [
        *lines,
        f"in all: about {_describe(everything, model)}; {time}",
        "An unusable answer is asked for once more, so at worst it is twice as much.",
    ]


def _describe(calls: Sequence[Calls], model: LabModel) -> str:
    sent = sum(one.prompt_tokens for one in calls)
    answered = sum(one.answer_tokens for one in calls)
    money = model.price(sent, answered)
    return (
        f"{pluralize(sum(one.calls for one in calls), 'call')}, {sent:,} tokens sent, {answered:,}"
        f" answered, {f'money {money:.2f}' if money else 'no prices set'}"
    )


def _estimate_seconds(calls: int, model: LabModel, seconds_a_call: float | None) -> float | None:
    bounds = []
    if model.calls_per_minute:
        bounds.append(calls * 60 / model.calls_per_minute)
    if seconds_a_call is not None:
        bounds.append(calls * seconds_a_call / model.in_flight)
    return max(bounds) if bounds else None


def _describe_seconds(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
