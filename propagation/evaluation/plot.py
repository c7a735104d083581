"""N@10 of the main arms over the stream, as a picture."""

from pathlib import Path

from propagation.evaluation.report import Report
from propagation.evaluation.table import LABELS

SHOWN = ("off", "placebo", "adoption", "offk", "offk_adoption")


def save_plot(report: Report, path: Path) -> None:
    """Write a picture of the format that the path's ending names (.png, .svg). Raises OSError where it can't be written."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4.5), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    for name in SHOWN:
        values = [float("nan") if value is None else value for value in report.over_time[name]]
        axes.plot(report.ends, values, label=LABELS[name], linestyle="--" if name == "placebo" else "-")
    axes.axvline(report.reported_from, color="grey", linewidth=0.8, linestyle=":")
    axes.set_xlabel("interactions (reported from the dotted line on)")
    axes.set_ylabel("N@10 against 9 unseen items")
    axes.set_title(f"{report.dataset}: {report.users:,} users, {report.items:,} items, seeds: {len(report.settings.seeds)}")
    axes.legend(fontsize="small")
    figure.savefig(path)
