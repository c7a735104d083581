"""The effect of one setting on ranking.

The same stream is ranked at several values of the setting.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from propagation.evaluation.protocols.metrics import Measured, Paired, compute_mean, pair_up
from propagation.evaluation.protocols.numbers_ranking import Report
from propagation.evaluation.protocols.whole_loop import RULES, WAYS, LoopRanking
from propagation.model import Term

SHOWN = {"k": ("off", "adoption", "offk", "offk_adoption"), "tau": ("off", "semantic")}
BASES = {"adoption": "off", "offk_adoption": "offk", "semantic": "off"}
LOOP_BASES = {"plain": "off", "text": "plain", "rules": "plain"}
EVOLVED, UNEVOLVED = "evolved", "not evolved"
NONE_MEANS = {"tau": "default", "evolution": "off"}


class EffectPoint(Term):
    """One value of the setting (None: see NONE_MEANS).

    Args:
        n10: Event means of N@10 by arm.
        gains: Paired user means by arm, against the arm's base.
        counts: Further effects of the value, by name.
    """

    value: float | None
    n10: Mapping[str, float | None]
    gains: Mapping[str, Paired | None]
    counts: Mapping[str, int] = {}


class Effect(Measured):
    """The effect of a setting.

    Args:
        of: The setting's name. A value of "evolution" means: before every so many rounds.
        bases: The arm that each arm of `gains` is compared with.
        ranked: How many events were ranked at each value.
        seeds: How many seeds were run.
        seed: The seed of all figures, the median of `seeds` at the first value. None: the whole
            loop ran once for each value.
        embedder: The embedder's name; for the whole loop, its name before it was fitted.
    """

    of: str
    ranked: int
    seeds: int
    seed: int | None
    embedder: str
    bases: Mapping[str, str]
    points: Sequence[EffectPoint]


def describe_value(of: str, value: float | None) -> str:
    """Return a setting's value as a person writes it."""
    return NONE_MEANS.get(of, "default") if value is None else f"{value:g}"


def build_numbers_point(of: str, value: float | None, report: Report) -> EffectPoint:
    """Return a point from a prequential report.

    The point has only the arms that the setting concerns (SHOWN).
    """
    arms = {name: report.arm(name) for name in SHOWN[of]}
    return EffectPoint(
        value=value,
        n10={name: arm.n10 for name, arm in arms.items()},
        gains={
            name: arm.against_off if BASES[name] == "off" else arm.against_offk
            for name, arm in arms.items()
            if name in BASES
        },
    )


def build_loop_point(
    value: float | None,
    looped: LoopRanking,
    counts: Mapping[str, int],
    unevolved: LoopRanking | None = None,
) -> EffectPoint:
    """Return a point from a pass through the whole loop.

    Rankings with texts are compared with the numbers alone, and these with propagation off.

    Args:
        counts: Further effects of the value, by name.
        unevolved: A pass over the same events without evolution, to compare the live ranking with.

    Raises:
        ValueError: The two passes ranked different events.
    """
    columns = dict(zip(WAYS, looped.values.T, strict=True))
    gains = {
        name: pair_up(columns[name], columns[base], looped.user)
        for name, base in LOOP_BASES.items()
    }
    if unevolved is not None:
        if not np.array_equal(looped.user, unevolved.user):
            raise ValueError("the two passes ranked different events; nothing can be paired")
        gains[EVOLVED] = pair_up(looped.values[:, RULES], unevolved.values[:, RULES], looped.user)
    return EffectPoint(
        value=value,
        n10={name: compute_mean(column) for name, column in columns.items()},
        gains=gains,
        counts=counts,
    )
