"""What an experiment needs, and roughly what it asks."""

from collections.abc import Sequence
from typing import NamedTuple

from propagation.adapters.openai.prompts.extract import PROMPT as DESCRIBE
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
USERS_OF_ROUNDS = 480
"""With so many users the known events make a whole number of rounds, which are estimated, too."""


class CallRates(NamedTuple):
    """The most calls of an experiment with one seed and one model.

    Equal questions of two methods cost nothing, which is not counted here.

    Attributes:
        an_item: By item with a text, which is described before the first event.
    """

    a_target: float
    an_event: float
    an_item: float

    def __str__(self) -> str:
        """Return the rates in words."""
        rates = {"a target": self.a_target, "an event": self.an_event, "an item": self.an_item}
        parts = [f"{rate:.3g} {name}" for name, rate in rates.items() if rate]
        return " + ".join(parts) or "no calls"


NO_CALLS = CallRates(0, 0, 0)


def list_needs(experiment: Experiment) -> list[str]:
    """List what the methods of an experiment need."""
    names = (*experiment.methods, *experiment.with_model)
    asking = [name for name in names if asks_model(name) or name in experiment.with_model]
    may_ask = any(map(_may_ask, names))
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


def _may_ask(name: str) -> bool:
    """Return whether a method asks a model only if one is named."""
    return name in ENGINE_VARIANTS and ENGINE_VARIANTS[name].may_ask


def count_call_rates(experiment: Experiment) -> CallRates:
    """Count the most calls of one model, if one is named.

    They are counted on made-up data.
    """
    names = (*experiment.methods, *experiment.with_model)
    asking = [name for name in names if asks_model(name) or _may_ask(name)]
    protocol = experiment.protocol
    if not asking or not isinstance(protocol, EstimatingProtocol):
        return NO_CALLS
    users = USERS_OF_ROUNDS if any(map(_may_ask, asking)) else USERS
    few, many = (_count_in(protocol, asking, _make_up(users, each)) for each in EVENTS)
    an_event = (many.calls - few.calls) / (many.events - few.events)
    a_target = (few.calls - an_event * few.events) / few.targets
    return CallRates(round(a_target, 2), round(an_event, 2), round(few.descriptions / ITEMS, 2))


class _Count(NamedTuple):
    """Calls that describe items, other calls, known events, and targets."""

    descriptions: int
    calls: int
    events: int
    targets: int


def _count_in(protocol: EstimatingProtocol, asking: Sequence[str], dataset: Dataset) -> _Count:
    model = LabModel(Settings.model_validate({"openai": {"model": "none"}}))
    history, targets = protocol.split(dataset)
    methods = build_methods(asking, dataset, Settings(), lambda events: (), model)
    calls = [
        one
        for method in methods
        if is_asking(method)
        for one in protocol.estimate(method, history, targets, 1)
    ]
    descriptions = sum(one.calls for one in calls if one.label == DESCRIBE.label)
    others = sum(one.calls for one in calls) - descriptions
    return _Count(descriptions, others, len(history.user), len(targets.user))


def _make_up(users: int, each: int) -> Dataset:
    """Make up users who take items one after the other."""
    events = Events("made up")
    for user in range(users):
        for step in range(each):
            item = (7 * user + step) % ITEMS
            events.append(f"u{user}", f"i{item}", 1_000 * (step * users + user))
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
    each = " for each model" if experiment.by_model else ""
    return ", ".join(list_needs(experiment)), f"{count_call_rates(experiment)}{each}"
