"""The page of a run: its table beside the paper's."""

from collections.abc import Sequence

from propagation.laboratory.experiments import Experiment, MethodFigures, RunPlan
from propagation.plurals import pluralize
from services.report.html import Child, make_element, table, write_document


def render_run(
    experiment: Experiment, plan: RunPlan, figures: Sequence[MethodFigures], reference: str
) -> str:
    """Render the whole document."""
    title = f"{experiment.name}: {experiment.title}"
    return write_document(
        title,
        make_element("h1", title),
        *(make_element("p", line) for line in describe_run(experiment, plan)),
        table(
            build_headers(experiment, figures, reference),
            build_rows(figures, experiment.measures),
            range(1, len(experiment.measures) + 4),
        ),
        _write_published(experiment),
    )


def build_headers(
    experiment: Experiment, figures: Sequence[MethodFigures], reference: str
) -> tuple[str, ...]:
    """Return the headers; the last one is empty if nothing is compared."""
    compared = any(one.method == reference for one in figures)
    return (
        "method",
        "seeds",
        "targets",
        *(experiment.headers[name] for name in experiment.measures),
        f"less {reference} ± se, t" if compared else "",
    )


def build_rows(figures: Sequence[MethodFigures], measures: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the rows: means, then the difference and its t."""
    return [
        (
            one.method,
            f"{one.seeds}",
            f"{one.targets:,}",
            *("-" if (mean := one.means[name]) is None else f"{mean:.4f}" for name in measures),
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


def describe_run(experiment: Experiment, plan: RunPlan) -> list[str]:
    """Describe the data, what was ranked, and what is missing."""
    described = experiment.protocol.description if experiment.protocol else ""
    lines = [
        f"{plan.data}: {pluralize(plan.users, 'user')}, {pluralize(plan.items, 'item')},"
        f" {pluralize(plan.events, 'event')}. {described} `recnet` is this service without a"
        " language model.",
        *plan.notes,
    ]
    if experiment.missing:
        lines.append(f"Not built yet: {', '.join(experiment.missing)}.")
    return lines


def _write_published(experiment: Experiment) -> list[Child]:
    if not experiment.published:
        return []
    headers = ("method", *(experiment.headers[name] for name in experiment.published_measures))
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
                    (
                        "method",
                        *(experiment.headers[name] for name in experiment.published_measures),
                    ),
                    [(name, *(f"{one:.4f}" for one in row)) for name, row in rows.items()],
                    range(1, len(headers)),
                ),
            )
            for data, rows in experiment.published.items()
        ),
    ]
