"""Plot reports in the format of the path's ending (.png, .svg).

A picture that cannot be written raises OSError.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from propagation.arrays import F64
from propagation.evaluation.protocols.effect import Effect, describe_value
from propagation.evaluation.protocols.metrics import Slice
from propagation.evaluation.protocols.numbers_ranking import KNOWING, LeaveOneOutReport, Report
from propagation.evaluation.reports.slice_plot import draw_slices
from propagation.evaluation.reports.table import LABELS, LOOP_LABELS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

SHOWN = ("off", "placebo", "adoption", "offk", "offk_adoption")
COLOURS = {
    "off": "#BBBBBB",
    "placebo": "#DDCC77",
    "adoption": "#56B4E9",
    "knn": "#009E73",
    "offk": "#888888",
    "offk_adoption": "#0072B2",
}
WIDTH, HEIGHT, SLICES_HEIGHT = 8.0, 4.5, 4.0
MARGIN = 0.02
OFFSET = 0.03


@contextmanager
def _create_figure(
    path: Path, columns: int, title: str, slices: Sequence[Slice] = ()
) -> Iterator["Figure | SubFigure"]:
    """Make a figure with one row of axes.

    The differences of slices are below, if there are targets. The figure is written when the block
    ends.
    """
    from matplotlib import rcParams
    from matplotlib.figure import Figure

    rcParams["text.parse_math"] = False  # a dataset's name is no formula
    shown = any(part.events for part in slices)
    size = (WIDTH * max(1, 0.65 * max(columns, 2 * shown)), HEIGHT + SLICES_HEIGHT * shown)
    figure = Figure(figsize=size, layout="constrained")
    figure.suptitle(title)
    upper: Figure | SubFigure = figure
    if shown:
        rows = figure.add_gridspec(2, 1, height_ratios=(HEIGHT, SLICES_HEIGHT))
        upper = figure.add_subfigure(rows[0])
        draw_slices(figure.add_subfigure(rows[1]), slices)
    upper.subplots(1, columns)
    yield upper
    figure.savefig(path)


def _draw_legend(figure: "Figure | SubFigure") -> None:
    """Draw one legend below all axes, where it hides no bar."""
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside lower center", ncols=min(len(labels), 5), fontsize="small"
    )


def plot_over_time(report: Report, path: Path) -> None:
    """Plot N@10 of the main arms over the stream, and the slices."""
    with _create_figure(
        path,
        1,
        f"{report.dataset}: {report.users:,} users, {report.items:,} items, seeds:"
        f" {len(report.settings.seeds)}",
        report.slices,
    ) as figure:
        (axes,) = figure.axes
        for name in SHOWN:
            axes.plot(
                report.ends,
                _convert_values(report.over_time[name]),
                label=LABELS[name],
                linestyle="--" if name == "placebo" else "-",
            )
        axes.axvline(report.reported_from, color="grey", linewidth=0.8, linestyle=":")
        axes.set_xlabel("interactions (reported from the dotted line on)")
        axes.set_ylabel("N@10 against 9 unseen items")
        axes.legend(fontsize="small")


def draw_leave_one_out(report: LeaveOneOutReport, path: Path) -> None:
    """Plot N@10 by arm, for each state of knowledge.

    The left half has N@10 of 10 candidates, the right half of 100. The slices are of targets that
    are ranked after all other events.
    """
    with _create_figure(
        path,
        2,
        f"{report.dataset}, leave-last-one-out: {report.known[0].targets:,} targets, seeds: "
        f"{len(report.settings.seeds)}",
        report.setting("end").slices,
    ) as figure:
        for axes, size in zip(figure.axes, (10, 100), strict=True):
            _draw_bars(
                axes,
                SHOWN,
                [
                    [
                        setting.arm(name).n10 if size == 10 else setting.arm(name).n10_of_100
                        for setting in report.known
                    ]
                    for name in SHOWN
                ],
                [KNOWING[setting.name].replace(", ", ",\n") for setting in report.known],
            )
            axes.set_ylabel(f"N@10 of {size}")
        _draw_legend(figure)


def plot_cold_start(slices: Sequence[Slice], title: str, path: Path) -> None:
    """Plot RecNet's Figure 6: little-known users and items, with and without propagation."""
    with _create_figure(path, 2, title, slices) as figure:
        names = ("off", "adoption", "knn", "offk", "offk_adoption")
        for axes, side in zip(figure.axes, ("user", "item"), strict=True):
            parts = [part for part in slices if part.of == side and part.events]
            _draw_bars(
                axes,
                names,
                [[getattr(part, name) for part in parts] for name in names],
                [f"{part.span}\n({part.events:,})" for part in parts],
            )
            axes.set_xlabel(
                "interactions that the user had (events ranked)"
                if side == "user"
                else "adopters that the item had (events ranked)"
            )
            axes.set_ylabel("N@10 against 9 unseen items")
        _draw_legend(figure)


def plot_effect(effect: Effect, path: Path) -> None:
    """Plot levels and gains by the setting's value.

    The error bar of a gain is twice its standard error.
    """
    with _create_figure(
        path,
        2,
        f"{effect.dataset}: the effect of {effect.of} ({effect.events:,} events, "
        f"{effect.ranked:,} ranked)",
    ) as figure:
        levels, gains = figure.axes
        places, labels = np.arange(len(effect.points)), {**LABELS, **LOOP_LABELS}
        for name in effect.points[0].n10:
            levels.plot(
                places,
                _convert_values([point.n10[name] for point in effect.points]),
                marker="o",
                label=labels.get(name, name),
                color=COLOURS.get(name),
            )
        for number, (name, base) in enumerate(effect.bases.items()):
            pairs = [point.gains[name] for point in effect.points]
            # Without the offset, bars of equal gains would hide each other.
            offset = OFFSET * (number - (len(effect.bases) - 1) / 2)
            gains.errorbar(
                places + offset,
                _convert_values([pair.mean if pair else None for pair in pairs]),
                [2 * abs(pair.mean / pair.t) if pair and pair.t else 0.0 for pair in pairs],
                marker="o",
                capsize=3,
                color=COLOURS.get(name),
                label=f"{labels.get(name, name)} less {labels.get(base, base)}",
            )
        gains.axhline(0, color="grey", linewidth=0.8)
        for axes in figure.axes:
            axes.set_xticks(
                places, [describe_value(effect.of, point.value) for point in effect.points]
            )
            axes.set_xlabel(
                "routers evolve before every nth round" if effect.of == "evolution" else effect.of
            )
            axes.legend(fontsize="x-small")
        levels.set_ylabel("N@10 against 9 unseen items")
        gains.set_ylabel("paired by user, with twice the standard error")


def _draw_bars(
    axes: "Axes",
    names: Sequence[str],
    values: Sequence[Sequence[float | None]],
    labels: Sequence[str],
) -> None:
    width = 0.8 / len(names)
    places = np.arange(len(labels))
    known = [value for row in values for value in row if value is not None]
    for row, name in enumerate(names):
        axes.bar(
            places + (row - (len(names) - 1) / 2) * width,
            _convert_values(values[row]),
            width,
            label=LABELS[name],
            color=COLOURS[name],
        )
    axes.set_xticks(places, labels, fontsize="small")
    if known:
        axes.set_ylim(0.0, min(1.0, max(known) + MARGIN))


def _convert_values(values: Sequence[float | None]) -> F64:
    """Return values as an array; None becomes NaN, which is not drawn."""
    return np.array(values, np.float64)
