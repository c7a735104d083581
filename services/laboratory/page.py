"""The page of a run: figures beside the paper's, claims, plots, cost."""

from collections.abc import Collection, Sequence

from propagation.evaluation.protocols.metrics import Paired
from propagation.laboratory.experiments import Experiment
from propagation.laboratory.runs import (
    MethodFigures,
    RunPlan,
    RunReport,
)
from propagation.laboratory.runs.report import MethodReport
from propagation.laboratory.runs.verdicts import LEAST_UNITS
from propagation.plurals import pluralize
from services.laboratory.charts import draw_series_chart
from services.report.html import Child, make_element, table, write_document

MADE_UP = (
    "The order of the events is made up, since the data have no times: what is last, and what was"
    " known before, says nothing about users. Do not compare methods that read the order."
)


def render_run(report: RunReport, columns: Sequence[str]) -> str:
    """Render the whole document.

    Args:
        columns: Seconds and counts that are columns of the table.
    """
    title = f"{report.experiment}: {report.title}"
    return write_document(
        title,
        make_element("h1", title),
        make_element("p", f"{report.source}. {report.described}"),
        *(make_element("p", warning) for warning in list_warnings(report.data.plan)),
        *(make_element("p", note) for note in report.notes),
        *_write_table(report, columns),
        *_write_claims(report),
        *_write_series(report),
        *_write_slices(report),
        *_write_data(report),
        *_write_cost(report),
        *_write_versions(report),
    )


def _write_table(report: RunReport, columns: Sequence[str]) -> list[Child]:
    """Write our figures, and the paper's in the same rows."""
    published = [
        (data, place, measure)
        for data in report.published
        for place, measure in enumerate(report.published_measures)
    ]
    headers = (
        "method",
        "in the paper",
        "seeds",
        "targets",
        *(f"{header} ± se" for header in report.headers.values()),
        f"less {report.reference} ± se, t",
        *columns,
        *(f"paper, {data}: {measure}" for data, _, measure in published),
    )
    ours = {one.method: one for one in report.methods}
    theirs = [name for rows in report.published.values() for name in rows if name not in ours]
    rows = [
        (
            *_write_figures(name, ours.get(name), report, columns),
            *(
                f"{report.published[data][name][place]:.4f}"
                if name in report.published[data]
                else "-"
                for data, place, _ in published
            ),
        )
        for name in dict.fromkeys([*ours, *theirs])
    ]
    lines: list[Child] = [
        make_element("h2", "Figures"),
        _write_wide_table(headers, rows, range(2, len(headers))),
        *(make_element("p", remark) for remark in report.remarks),
    ]
    if report.published:
        lines.append(
            make_element(
                "p",
                "The paper's figures are of other data, of which the samples are not public. So"
                " compare orders, not figures.",
            )
        )
    if report.missing:
        lines.append(make_element("p", f"Not built: {', '.join(report.missing)}."))
    return lines


def _write_figures(
    name: str, one: MethodReport | None, report: RunReport, columns: Sequence[str]
) -> tuple[str, ...]:
    label = report.labels.get(name, name)
    if one is None:
        return name, label, "not run", *["-"] * (len(report.headers) + len(columns) + 2)
    return (
        name,
        label,
        f"{one.seeds}",
        f"{one.targets:,}",
        *(_write_mean(one.means[name], one.errors[name]) for name in report.headers),
        describe_pair(one.against),
        *(f"{one.counts[column]:,.4g}" if column in one.counts else "-" for column in columns),
    )


def _write_wide_table(
    headers: Sequence[str], rows: Sequence[Sequence[str]], numbers: Collection[int]
) -> Child:
    """Write a table that scrolls if it is wider than the page."""
    return make_element("div", table(headers, rows, numbers), class_="scroll")


def _write_mean(mean: float | None, error: float | None) -> str:
    if mean is None:
        return "-"
    return f"{mean:.4f}" if error is None else f"{mean:.4f} ± {error:.4f}"


def _write_claims(report: RunReport) -> list[Child]:
    if not report.claims:
        return []
    return [
        make_element("h2", "Claims of the paper"),
        make_element(
            "p",
            "An order holds, or does not, if its t would come by chance once in twenty times at"
            " most, by Student's distribution; otherwise, or of fewer than"
            f" {LEAST_UNITS} users or seeds, it cannot be told. “No difference” (=) that was found"
            " does not show that there is none. Differences are paired by user, after the"
            " mean over seeds; those of seconds and counts are paired by seed. Nothing is corrected"
            " for the number of claims.",
        ),
        table(
            ("claim", "here", "difference ± se, t", "users or seeds"),
            [
                (one.claim, one.verdict, describe_pair(one.difference), f"{one.units:,}")
                for one in report.claims
            ],
            range(2, 4),
        ),
    ]


def _write_series(report: RunReport) -> list[Child]:
    names = dict.fromkeys(one.name for one in report.series)
    return [
        child
        for name in names
        for child in (
            make_element("h2", f"{name.capitalize()} over time"),
            draw_series_chart(name, [one for one in report.series if one.name == name]),
            make_element("p", "Means over seeds.", class_="quiet"),
        )
    ]


def _write_slices(report: RunReport) -> list[Child]:
    if not report.slices:
        return []
    methods = [one.method for one in report.methods]
    measure = list(report.headers.values())[-1]
    return [
        make_element("h2", f"{measure} by what is known of users and items"),
        _write_wide_table(
            ("slice", "targets", *methods),
            [
                (
                    one.slice,
                    f"{one.targets:,}",
                    *(_write_mean(one.means[method], None) for method in methods),
                )
                for one in report.slices
            ],
            range(1, len(methods) + 2),
        ),
        make_element("h3", f"The same, less {report.reference} ± se, t"),
        _write_wide_table(
            ("slice", *methods),
            [
                (one.slice, *(describe_pair(one.against[method]) for method in methods))
                for one in report.slices
            ],
            range(1, len(methods) + 1),
        ),
    ]


def _write_data(report: RunReport) -> list[Child]:
    data = report.data
    rows = [
        ("users", f"{data.plan.users:,}"),
        ("items", f"{data.plan.items:,}"),
        ("events", f"{data.plan.events:,}"),
        ("sparsity", f"{data.sparsity:.2%}"),
    ]
    for name, spread in (
        ("known interactions of a target's user", data.history),
        ("users known to have a target's item", data.adopters),
    ):
        if spread is not None:
            least, median, most = spread
            rows.append((name, f"{least:g} to {most:g}, median {median:g}"))
    rows.append(("digest", data.plan.digest))
    return [
        make_element("h2", f"Data: {data.plan.data}"),
        table(("", ""), rows),
        *(make_element("p", note) for note in data.plan.notes),
    ]


def _write_cost(report: RunReport) -> list[Child]:
    names = list(dict.fromkeys(name for one in report.methods for name in one.counts))
    return [
        make_element("h2", "Cost"),
        make_element("p", "Means over seeds. Seconds are wall time of this machine."),
        _write_wide_table(
            ("method", *names),
            [
                (
                    one.method,
                    *(f"{one.counts[name]:,.4g}" if name in one.counts else "-" for name in names),
                )
                for one in report.methods
            ],
            range(1, len(names) + 1),
        ),
    ]


def _write_versions(report: RunReport) -> list[Child]:
    return [
        make_element("h2", "Versions and settings"),
        make_element(
            "p",
            "Results are made again when what they depend on has changed. Digests stand for files,"
            " prompts and settings; `code` is one of this program's sources. The commit is that of"
            " these sources, if they are a checkout, and decides nothing.",
        ),
        table(
            ("method", "its results depend on", "made at commit", "settings"),
            [
                (
                    one.method,
                    _describe_dependencies(one),
                    ", ".join(one.commits) or "-",
                    one.settings or "-",
                )
                for one in report.methods
            ],
        ),
        make_element("p", "This page was written by:"),
        table(("", ""), report.versions.items()),
    ]


def _describe_dependencies(one: MethodReport) -> str:
    return ", ".join(f"{name} {value}" for name, value in one.depends_on.items()) or one.version


def build_headers(
    experiment: Experiment, figures: Sequence[MethodFigures], reference: str
) -> tuple[str, ...]:
    """Return the headers; the last one is empty if nothing is compared."""
    compared = any(one.method == reference for one in figures)
    return (
        "method",
        "seeds",
        "targets",
        *(f"{experiment.headers[name]} ± se" for name in experiment.measures),
        f"less {reference} ± se, t" if compared else "",
    )


def build_rows(
    figures: Sequence[MethodFigures], measures: Sequence[str], absent: Sequence[str] = ()
) -> list[tuple[str, ...]]:
    """Return the rows: means with standard errors, then the difference.

    Args:
        absent: Methods that are not installed.
    """
    missing = [
        (name, "not installed", *["-"] * (len(measures) + 2))
        for name in absent
        if name not in {one.method for one in figures}
    ]
    return missing + [
        (
            one.method,
            f"{one.seeds}",
            f"{one.targets:,}",
            *(_write_mean(one.means[name], one.errors[name]) for name in measures),
            describe_pair(one.against),
        )
        for one in figures
    ]


def describe_pair(pair: Paired | None) -> str:
    """Describe a difference with its standard error and its t."""
    if pair is None:
        return "-"
    if pair.standard_error is None:
        return f"{pair.mean:+.4f}"
    t = "-" if pair.t is None else f"{pair.t:.1f}"
    return f"{pair.mean:+.4f} ± {pair.standard_error:.4f}, {t}"


def list_warnings(plan: RunPlan) -> list[str]:
    """List what a reader must know before the figures."""
    return [MADE_UP] if plan.order_made_up else []


def describe_run(experiment: Experiment, plan: RunPlan) -> list[str]:
    """Describe the data, what was ranked, and what is missing."""
    lines = [
        f"{plan.data}: {pluralize(plan.users, 'user')}, {pluralize(plan.items, 'item')},"
        f" {pluralize(plan.events, 'event')}. {plan.described}",
        *plan.notes,
        *experiment.notes,
    ]
    if experiment.missing:
        lines.append(f"Not built yet: {', '.join(experiment.missing)}.")
    return lines
