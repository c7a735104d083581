"""The page of a run: its table beside the paper's."""

from collections.abc import Sequence
from importlib.resources import files

from propagation.laboratory.experiments import Experiment, MethodFigures, RunPlan
from propagation.plurals import pluralize
from services.report.html import Child, make_element, table, to_html

MEASURES = {"n1": "N@1", "n5": "N@5", "n10": "N@10", "n10_of_100": "N@10 of 100"}


def render_run(
    experiment: Experiment, plan: RunPlan, figures: Sequence[MethodFigures], reference: str
) -> str:
    """Render the document, which loads no files and runs no scripts."""
    style = make_element("style")
    style.text = files("services.report").joinpath("style.css").read_text(encoding="utf-8")
    head = make_element(
        "head",
        make_element("meta", charset="utf-8"),
        make_element(
            "meta",
            http_equiv="Content-Security-Policy",
            content="default-src 'none'; style-src 'unsafe-inline'",
        ),
        make_element("title", f"{experiment.name}: {experiment.title}"),
        style,
    )
    main = make_element(
        "main",
        make_element("h1", f"{experiment.name}: {experiment.title}"),
        make_element("p", describe_run(plan, figures)),
        table(
            ("method", *(MEASURES[name] for name in experiment.measures), f"over {reference}, t"),
            build_rows(figures, experiment.measures),
            range(1, len(experiment.measures) + 2),
        ),
        _write_published(experiment),
        make_element("p", write_missing(experiment, plan, figures)),
    )
    return to_html(make_element("html", head, make_element("body", main), lang="en"))


def build_rows(figures: Sequence[MethodFigures], measures: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the rows: means, then the difference and its t."""
    return [
        (
            one.method,
            *(f"{one.means[name]:.4f}" for name in measures),
            _describe_difference(one),
        )
        for one in figures
    ]


def _describe_difference(one: MethodFigures) -> str:
    pair = one.against
    if pair is None or pair.standard_error is None:
        return "-"
    t = "-" if pair.t is None else f"{pair.t:.1f}"
    return f"{pair.mean:+.4f} ± {pair.standard_error:.4f}, {t}"


def describe_run(plan: RunPlan, figures: Sequence[MethodFigures]) -> str:
    """Describe the data and what the figures are means of."""
    targets = figures[0].targets if figures else 0
    return (
        f"{plan.data}: {pluralize(plan.users, 'user')}, {pluralize(plan.items, 'item')},"
        f" {pluralize(plan.events, 'event')}. Each user's last event is ranked against 9 items, and"
        " against 99, that the user never had, in expectation over all draws:"
        f" {pluralize(targets, 'target')},"
        f" {pluralize(len(plan.seeds), 'seed')}."
    )


def write_missing(experiment: Experiment, plan: RunPlan, figures: Sequence[MethodFigures]) -> str:
    """Name the methods without a row, and why."""
    ran = {one.method for one in figures}
    lines = []
    if waiting := [name for name in plan.methods if name not in ran]:
        lines.append(f"No results yet: {', '.join(waiting)}.")
    if experiment.missing:
        lines.append(f"Not built yet: {', '.join(experiment.missing)}.")
    return " ".join(lines)


def _write_published(experiment: Experiment) -> list[Child]:
    if not experiment.published:
        return []
    return [
        make_element("h2", f"{experiment.source}, as published"),
        make_element(
            "p",
            "Other data, of which the samples are not public. So compare orders, not figures.",
        ),
        *(
            make_element(
                "section",
                make_element("h3", data),
                table(
                    ("method", *(MEASURES[name] for name in experiment.published_measures)),
                    [(name, *(f"{one:.4f}" for one in row)) for name, row in rows.items()],
                    range(1, len(experiment.published_measures) + 1),
                ),
            )
            for data, rows in experiment.published.items()
        ),
    ]
