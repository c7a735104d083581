"""Plot where the live ranker gains and loses: its differences by slice."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from propagation.evaluation.protocols.metrics import Slice
from propagation.evaluation.reports.slice_differences import (
    BARS,
    DIFFERENCES,
    ERRORS_OF_95,
    SLICED,
    WORSE,
    describe_difference,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import SubFigure

COLOURS = {"over_knn": "#0072B2", "gain_live": "#666666"}
MARKERS = {"over_knn": "o", "gain_live": "s"}
WORSE_COLOUR = "#D55E00"
# Places of a slice's differences, in rows.
OFFSETS = {"over_knn": -0.17, "gain_live": 0.17}


def draw_slices(figure: "SubFigure", slices: Sequence[Slice]) -> None:
    """Draw a panel for users and one for items.

    Each slice that has targets is a row.
    """
    panels = figure.subplots(1, 2)
    for axes, (side, heading) in zip(panels, SLICED.items(), strict=True):
        _draw_panel(axes, [part for part in slices if part.of == side and part.events])
        axes.set_title(f"by {heading} (targets)", fontsize="medium")
    _draw_legend(figure)


def _draw_panel(axes: "Axes", parts: Sequence[Slice]) -> None:
    """Draw each difference with its standard error and interval.

    The bar of the standard error is thick, that of the 95% interval thin.
    """
    for row, part in enumerate(parts):
        for field in DIFFERENCES:
            pair = getattr(part, field)
            if pair is None:
                continue
            place = row + OFFSETS[field]
            colour = WORSE_COLOUR if pair.worse else COLOURS[field]
            error = pair.standard_error or 0.0
            for errors, thickness in ((ERRORS_OF_95, 1.0), (1.0, 3.5)):
                axes.hlines(
                    place,
                    pair.mean - errors * error,
                    pair.mean + errors * error,
                    color=colour,
                    linewidth=thickness,
                )
            axes.plot(pair.mean, place, MARKERS[field], color=colour, markersize=6)
            axes.text(
                1.02,
                place,
                describe_difference(pair),
                transform=axes.get_yaxis_transform(),
                verticalalignment="center",
                fontsize="small",
                color=colour,
                weight="bold" if pair.worse else "normal",
            )
    axes.axvline(0, color="black", linewidth=0.8)
    axes.set_yticks(range(len(parts)), [f"{part.span}\n({part.events:,})" for part in parts])
    axes.tick_params(labelsize="small")
    axes.set_ylim(max(len(parts), 1) - 0.5, -0.5)
    axes.locator_params(axis="x", nbins=5)
    axes.grid(axis="x", linewidth=0.4)
    axes.set_axisbelow(True)
    axes.set_xlabel("difference of N@10, paired by user", fontsize="small")


def _draw_legend(figure: "SubFigure") -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], marker=MARKERS[field], color=COLOURS[field], linewidth=3.5, label=label)
        for field, label in DIFFERENCES.items()
    ]
    handles += [
        Line2D([], [], color=WORSE_COLOUR, linewidth=3.5, label=WORSE),
        Line2D([], [], linestyle="", label=BARS),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=2, fontsize="small")
