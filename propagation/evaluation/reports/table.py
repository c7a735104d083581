"""Tables of reports: headings and rows of text."""

from collections.abc import Collection, Sequence
from typing import Literal

from propagation.evaluation.protocols.effect import Effect, describe_value
from propagation.evaluation.protocols.metrics import Figures, Paired, Slice

LABELS = {
    "off": "propagation off",
    "placebo": "placebo routing",
    "adoption": "adoption routing",
    "knn": "off + kNN",
    "offk": "off + kNN + factors",
    "offk_adoption": "live: and adoption",
    "semantic": "semantic routing",
    "point_to_point": "point-to-point",
    "popularity": "popularity alone",
    "minus_popularity": "minus popularity",
}
LOOP_LABELS = {
    "plain": "numbers alone",
    "text": "with texts",
    "rules": "with texts and rules (live)",
    "evolved": "live, evolved",
    "not evolved": "live, not evolved",
}
MEASURES = ("n10", "hr1", "n10_matched")
LEAVE_ONE_OUT_MEASURES = ("n10", "n10_of_100", "hr1", "n10_matched")
DIFFERENCES = ("over off", "t", "over best", "t")
HEADERS = ("arm", "N@10", "HR@1", "matched", *DIFFERENCES)
LEAVE_ONE_OUT_HEADERS = ("arm", "N@10", "of 100", "HR@1", "matched", *DIFFERENCES)
FIXED_HEADERS = ("arm", "end", "all", "moment", "all", "shuffled", "all")
FOOTNOTE = (
    "Levels, as N@10, are means over events. Differences are means over users, and every user"
    " counts the same, so they are not the differences of the levels."
)
MATCHED = (
    "N@10: against 9 unseen items, or all if there are fewer. matched: against 9 of the target's"
    " kind, items with adopters or items without. best: off + kNN + factors, the live ranker"
    " without routers."
)
SPREAD_FORMATS = {"t": ".1f", "standard_error": ".4f"}
SLICE_HEADERS = (
    "known",
    "events",
    "off",
    "adoption",
    "gain",
    "±",
    "live",
    "gain",
    "±",
    "over kNN",
    "±",
)
SLICE_FOOTNOTE = (
    "gain: adoption over off, and live over off + kNN + factors, which is what routers add;"
    " over kNN: live over off + kNN. ±: the standard error over users."
)


def arm_rows(
    figures: Figures, measures: Sequence[str], shown: Collection[str]
) -> list[tuple[str, ...]]:
    """Return one row for each shown arm, in LABELS' order.

    Args:
        measures: MEASURES for rows under HEADERS, or LEAVE_ONE_OUT_MEASURES.
    """
    arms = [figures.arm(name) for name in LABELS if name in shown]
    return [
        (
            LABELS[arm.name],
            *(_format_level(getattr(arm, measure)) for measure in measures),
            *_format_difference(arm.against_off),
            *_format_difference(arm.against_offk),
        )
        for arm in arms
    ]


def slice_rows(slices: Sequence[Slice]) -> list[tuple[str, ...]]:
    """Return one row for each slice that has events, under SLICE_HEADERS."""
    return [
        (
            part.span,
            f"{part.events:,}",
            _format_level(part.off),
            _format_level(part.adoption),
            *_format_difference(part.gain, "standard_error"),
            _format_level(part.offk_adoption),
            *_format_difference(part.gain_live, "standard_error"),
            *_format_difference(part.over_knn, "standard_error"),
        )
        for part in slices
        if part.events
    ]


def build_fixed_rows(settings: Sequence[Figures], shown: Collection[str]) -> list[tuple[str, ...]]:
    """Return a row for each arm: its N@10 against fixed candidates.

    Each setting has two columns: against the first nine candidates, and against all.
    """
    return [
        (
            label,
            *(
                _format_level(value)
                for setting in settings
                for value in (setting.arm(name).n10_fixed, setting.arm(name).n10_of_all_fixed)
            ),
        )
        for name, label in LABELS.items()
        if name in shown
    ]


def build_effect_levels(effect: Effect) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return headings and one row for each value: levels, then counts."""
    first = effect.points[0]
    return (effect.of, *first.n10, *first.counts), [
        (
            describe_value(effect.of, point.value),
            *(_format_level(value) for value in point.n10.values()),
            *(f"{count:,}" for count in point.counts.values()),
        )
        for point in effect.points
    ]


def build_effect_gains(effect: Effect) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return headings and one row of gains for each value.

    A gain is an arm minus its base, with its t.
    """
    return (
        effect.of,
        *(
            part
            for name in effect.points[0].gains
            for part in (f"{name} - {effect.bases[name]}", "t")
        ),
    ), [
        (
            describe_value(effect.of, point.value),
            *(part for pair in point.gains.values() for part in _format_difference(pair)),
        )
        for point in effect.points
    ]


def _format_level(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"


def _format_difference(
    pair: Paired | None, spread: Literal["t", "standard_error"] = "t"
) -> tuple[str, str]:
    if pair is None:
        return "", ""
    value = getattr(pair, spread)
    return f"{pair.mean:+.4f}", "-" if value is None else f"{value:{SPREAD_FORMATS[spread]}}"
