"""What an experiment needs, and roughly what it asks."""

from collections.abc import Sequence
from typing import NamedTuple

from propagation.datasets.dataset import Dataset, Events, assemble
from propagation.laboratory.experiments.experiment import Experiment
from propagation.laboratory.methods.asking import asks_model as is_asking
from propagation.laboratory.methods.recnet import ENGINE_VARIANTS
from propagation.laboratory.protocols.protocol import EstimatingProtocol
from propagation.model import ClientChange, ClientKey, ClientKind
from services.config.settings import Settings
from services.laboratory.asking_methods import asks_model
from services.laboratory.baselines import ENVIRONMENTS
from services.laboratory.methods import build_methods
from services.laboratory.model import LabModel

USERS, ITEMS, EVENTS = 12, 90, (22, 32)
"""Made-up data on which calls are counted: twice, with different numbers of events a user."""


class CallRates(NamedTuple):
    """The most calls of all methods of an experiment, with one seed.

    Equal questions of two methods cost nothing, which is not counted here.
    """

    a_target: float
    an_event: float

    def __str__(self) -> str:
        """Return the rates in words."""
        rates = ((self.a_target, "target"), (self.an_event, "event"))
        parts = [f"{rate:.3g} a{'n' * (name == 'event')} {name}" for rate, name in rates if rate]
        return " + ".join(parts) or "no calls"


def list_needs(experiment: Experiment) -> list[str]:
    """List what the methods of an experiment need."""
    names = (*experiment.methods, *experiment.with_model)
    asking = [name for name in names if asks_model(name) or name in experiment.with_model]
    may_ask = any(name in ENGINE_VARIANTS and ENGINE_VARIANTS[name].may_ask for name in names)
    # A baseline can be inside of an agent: rec(ease).
    targets = [
        environment.target
        for one, environment in ENVIRONMENTS.items()
        if any(_is_inside(one, name) for name in names)
    ]
    model = "a model" if len(asking) == len(names) else f"a model for {len(asking)} of {len(names)}"
    return [
        "times",
        *(["titles", model] if asking else []),
        *(["a model for more, if you name one"] if may_ask else []),
        *(f"make {target}" for target in dict.fromkeys(targets)),
    ]


def _is_inside(method: str, name: str) -> bool:
    return method in name.replace("(", " ").replace(")", " ").replace("+", " ").split()


def count_call_rates(experiment: Experiment) -> CallRates:
    """Count the most calls by target and by known event.

    They are counted on made-up data.
    """
    asking = [name for name in experiment.methods if asks_model(name)]
    protocol = experiment.protocol
    if not asking or not isinstance(protocol, EstimatingProtocol):
        return CallRates(0, 0)
    model = LabModel(Settings.model_validate({"openai": {"model": "none"}}))
    counts = []
    for each in EVENTS:
        dataset = _make_up(each)
        history, targets = protocol.split(dataset)
        methods = build_methods(asking, dataset, Settings(), lambda events: (), model)
        calls = sum(
            one.calls
            for method in methods
            if is_asking(method)
            for one in protocol.estimate(method, history, targets, 1)
        )
        counts.append((calls, len(history.user), len(targets.user)))
    (fewer, events, targeted), (more, more_events, _) = counts
    an_event = (more - fewer) / (more_events - events)
    return CallRates(round((fewer - an_event * events) / targeted, 2), round(an_event, 2))


def _make_up(each: int) -> Dataset:
    """Make up users who take items one after the other."""
    events = Events("made up")
    for user in range(USERS):
        for step in range(each):
            item = (7 * user + step) % ITEMS
            events.append(f"u{user}", f"i{item}", 1_000 * (step * USERS + user))
    catalogue = {
        f"i{number}": ClientChange(
            key=ClientKey(kind=ClientKind.ITEM, id=f"i{number}"), title=f"Item {number}"
        )
        for number in range(ITEMS)
    }
    return assemble("made up", catalogue, {}, events, 1)


def describe_needs(experiment: Experiment) -> Sequence[str]:
    """Return what it needs and its most calls, in words."""
    if experiment.protocol is None:
        return "", ""
    return ", ".join(list_needs(experiment)), str(count_call_rates(experiment))
