"""RecNet's ablations and other variants, by their names.

The variants of the engine start from the preset `paper` and differ from it by settings. In it,
routers evolve and taste routers begin as twenty, as the paper says. The variants of the numbers
start from the live ranker without texts, and differ in the feature that propagates.

Source:
    RecNet 3.3, Table 3; 3.4.2, Figure 5; 3.4.4, Table 4; 3.4.5, Table 5.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

from propagation.evaluation.kernels.arms import BASE, FACTORS, KNN, LIFTS, Control
from propagation.laboratory.methods.recnet.point_to_point import Content, Way
from propagation.workflow.replay import STEP

PAPER_STEP = 16
"""Events between two looks at whether a round is due, so that rounds run when they are due."""
WHOLE_BUFFER = 64
# RecNet's samples have 800 interactions, and gradients from the holdout do not count. With the
# default of 2,000 no router would ever evolve.
SMALL_HOLDOUT = {"holdout": 100}
INITIAL_K = (5, 10, 20, 40)


@dataclass(frozen=True)
class EngineVariant:
    """One way to run the engine.

    Attributes:
        preset: The preset of the service's settings that it starts from; "": none.
        settings: Settings of the workflow that differ from these, by their names.
        step: As in ReplayPlan; likewise merges_at_once.
        propagate: Rank with propagation, if the numbers rank.
        may_ask: A language model reasons and ranks, if the run has one.
        way: How clients send to each other; None: they do not.
    """

    preset: str = ""
    settings: Mapping[str, object] = field(default_factory=dict)
    step: int = STEP
    merges_at_once: bool = False
    propagate: bool = True
    may_ask: bool = False
    way: Way | None = None


NO_RULES = {"filter_memory": False}
NO_EVOLUTION = {"evolve_every_rounds": None}
# No message may fall out of a buffer that is emptied after each round.
NO_BUFFER = {"buffer": WHOLE_BUFFER}


def _vary(
    changes: Mapping[str, object], step: int = PAPER_STEP, *, merges_at_once: bool = False
) -> EngineVariant:
    """Return a variant of the preset `paper`."""
    settings = {**SMALL_HOLDOUT, **changes}
    return EngineVariant("paper", settings, step, merges_at_once, may_ask=True)


def _send_between_clients(way: Way | None) -> EngineVariant:
    """Return a variant of the preset `paper` in which no router sends.

    The numbers keep theirs, which nobody reads: texts alone differ from those of other variants.
    """
    settings = {**SMALL_HOLDOUT, **NO_EVOLUTION, "propagate": False}
    return EngineVariant("paper", settings, 1, may_ask=True, way=way)


ENGINE_VARIANTS: Mapping[str, EngineVariant] = {
    "recnet": EngineVariant(),
    "recnet-off": EngineVariant(propagate=False),
    "recnet-paper": _vary({}),
    "recnet-no-ppr": _vary({**NO_RULES, **NO_BUFFER}, merges_at_once=True),
    "recnet-no-buffer": _vary(NO_BUFFER, merges_at_once=True),
    "recnet-no-filter-memory": _vary(NO_RULES),
    "recnet-no-fpo": _vary({**NO_RULES, **NO_EVOLUTION}),
    # A filter memory is empty until it is optimised: the same as without one.
    "recnet-no-opt-filter-memory": _vary(NO_RULES),
    "recnet-no-opt-router": _vary(NO_EVOLUTION),
    "recnet-no-async": _vary({"update_size": 1}, step=1),
    **{f"recnet-k{k}": _vary({"taste.k": k}) for k in INITIAL_K},
    "recnet-alone": _send_between_clients(None),
    "recnet-em": _send_between_clients(Way()),
    "recnet-em-lr": _send_between_clients(Way(selects=True)),
    "recnet-em-lr-ls": _send_between_clients(Way(selects=True, content=Content.SUMMARY)),
    "recnet-no-router": _send_between_clients(Way(content=Content.SUMMARY_EACH)),
}
LIVE = (*BASE, *KNN, *FACTORS)
NUMBERS_VARIANTS: Mapping[str, Sequence[IntEnum]] = {
    "recnet-numbers": (*LIVE, *LIFTS),
    "recnet-no-propagation": LIVE,
    "recnet-no-cpr": (*LIVE, Control.POINT_TO_POINT),
    "recnet-semantic": (*LIVE, Control.SEMANTIC),
    "recnet-placebo": (*LIVE, Control.PLACEBO_SESSION, Control.PLACEBO_TASTE),
}
