"""The content of a run's report, as data for page and file."""

from collections.abc import Mapping, Sequence

import numpy as np

from propagation.arrays import I64
from propagation.evaluation.protocols.metrics import Paired
from propagation.grouping import group_pairs
from propagation.laboratory.experiments.claims import Slice
from propagation.laboratory.experiments.experiment import Experiment
from propagation.laboratory.history import Known
from propagation.laboratory.methods.dependencies import CODE
from propagation.laboratory.runs.comparison import MethodFigures, check_comparable, compare
from propagation.laboratory.runs.parts import Part
from propagation.laboratory.runs.plan import RunPlan
from propagation.laboratory.runs.verdicts import Judged, get_count, judge
from propagation.model import Term, pluralize

NOT_RECORDED = "an earlier release, which did not record its code"


class MethodReport(Term):
    """One method's figures.

    Attributes:
        label: The paper's name of the method.
        targets: How many targets could be ranked.
        means: By measure, over targets and seeds; errors are standard errors over users.
        against: The difference to the reference in the last measure, paired by user.
        counts: Seconds, and what the method counted of itself: means over seeds.
        version: A digest of `depends_on`.
        depends_on: What the results depend on by name, such as versions of programs and packages.
        commits: The git commits of the code that made the results, without repeats.
        settings: The settings that decide the scores.
    """

    method: str
    label: str
    seeds: int
    targets: int
    means: Mapping[str, float | None]
    errors: Mapping[str, float | None]
    against: Paired | None
    counts: Mapping[str, float]
    version: str
    depends_on: Mapping[str, str]
    commits: Sequence[str]
    settings: str


class SliceReport(Term):
    """One slice's figures of the last measure, by method.

    Attributes:
        against: The difference to the reference, paired by user.
    """

    targets: int
    slice: str
    means: Mapping[str, float | None]
    against: Mapping[str, Paired | None]


class SeriesReport(Term):
    """A method's series over the time of learning, by seed."""

    name: str
    method: str
    seeds: Sequence[Sequence[float]]


class DataReport(Term):
    """Statistics of the data.

    Attributes:
        plan: Names, sizes and remarks.
        sparsity: The share of pairs of a user and an item without an event, 0 to 1.
        history: Least, median and largest number of known interactions of the targets' users;
            None if the run has no such file. Likewise adopters of the targets' items.
    """

    plan: RunPlan
    sparsity: float
    history: tuple[float, float, float] | None
    adopters: tuple[float, float, float] | None


class RunReport(Term):
    """All that a report says.

    Attributes:
        reference: The method to which the others are compared.
        headers: The header of each measure that is a column.
        missing: Methods of the paper's table that are not built.
        published: The paper's figures by data and method, as published_measures.
        labels: The paper's names of methods.
        remarks: What a reader must know of methods, in sentences.
        versions: Of the programs that wrote the report.
    """

    experiment: str
    title: str
    source: str
    described: str
    reference: str
    headers: Mapping[str, str]
    data: DataReport
    methods: Sequence[MethodReport]
    claims: Sequence[Judged]
    slices: Sequence[SliceReport]
    series: Sequence[SeriesReport]
    missing: Sequence[str]
    notes: Sequence[str]
    published_measures: Sequence[str]
    published: Mapping[str, Mapping[str, Sequence[float]]]
    labels: Mapping[str, str]
    remarks: Sequence[str]
    versions: Mapping[str, str]


def list_remarks(parts: Sequence[Part], older: Sequence[Part] = ()) -> list[str]:
    """List what a reader must know of the methods.

    Args:
        older: Results that are left out, as they are of older versions.
    """
    about = group_pairs(
        (part.measured.remark, part.method) for part in parts if part.measured.remark
    )
    return [
        *(f"{', '.join(dict.fromkeys(names))}: {remark}." for remark, names in about.items()),
        *_describe_codes(parts),
        *(_describe_older(name, some, parts) for name, some in _group_by_method(older).items()),
    ]


def _group_by_method(parts: Sequence[Part]) -> dict[str, list[Part]]:
    return group_pairs((part.method, part) for part in parts)


def _describe_codes(parts: Sequence[Part]) -> list[str]:
    """Say whether the results were made by different code."""
    by_code = group_pairs((part.depends_on.get(CODE, NOT_RECORDED), part.method) for part in parts)
    if len(by_code) < 2:
        return []
    made = "; ".join(
        f"{', '.join(dict.fromkeys(names))} by {code}" for code, names in by_code.items()
    )
    return [
        f"The code of this program is not the same in all rows, so differences may come from it:"
        f" {made}. `propagation lab run` with these methods makes them again."
    ]


def _describe_older(name: str, older: Sequence[Part], parts: Sequence[Part]) -> str:
    newest = next((part for part in parts if part.method == name), older[0])
    names = {*newest.depends_on, *(name for part in older for name in part.depends_on)}
    changed = [
        name
        for name in sorted(names)
        if any(part.depends_on.get(name) != newest.depends_on.get(name) for part in older)
    ]
    seeds = ", ".join(f"{part.seed}" for part in older)
    what = f" ({', '.join(changed)})" if changed else ""
    return (
        f"{name}: {pluralize(len(older), 'seed')} left out ({seeds}), as what makes its results has"
        f" changed since{what}. `propagation lab run` makes them again."
    )


def build_report(
    experiment: Experiment,
    plan: RunPlan,
    parts: Sequence[Part],
    known: Known | None,
    reference: str,
    versions: Mapping[str, str],
    older: Sequence[Part] = (),
) -> RunReport:
    """Build a run's report from its results.

    Args:
        known: Of the run's targets; None: slices and claims about them are left out.
        older: Results that are left out, as they are of older versions.

    Raises:
        PropagationError: As `check_comparable`.
    """
    check_comparable(parts, experiment.measures, known)
    by_method = _group_by_method(parts)
    figures = compare(parts, experiment.measures, reference)
    pairs = plan.users * plan.items
    return RunReport(
        experiment=experiment.name,
        title=experiment.title,
        source=experiment.source,
        described=plan.described
        or (experiment.protocol.description if experiment.protocol else ""),
        reference=reference,
        headers={name: experiment.headers[name] for name in experiment.measures},
        data=DataReport(
            plan=plan,
            sparsity=1 - plan.events / pairs if pairs else 0.0,
            history=None if known is None else _spread(known.history),
            adopters=None if known is None else _spread(known.adopters),
        ),
        methods=[_report_method(experiment, one, by_method[one.method]) for one in figures],
        claims=[judge(claim, parts, known) for claim in experiment.claims],
        slices=[]
        if known is None
        else [_report_slice(experiment, one, parts, known, reference) for one in experiment.slices],
        series=[
            SeriesReport(
                name=name, method=method, seeds=[part.measured.series[name] for part in some]
            )
            for name in experiment.series
            for method, some in by_method.items()
            if all(name in part.measured.series for part in some)
        ],
        missing=experiment.missing,
        notes=experiment.notes,
        published_measures=[experiment.headers[name] for name in experiment.published_measures],
        published=experiment.published,
        labels=experiment.labels,
        remarks=list_remarks(parts, older),
        versions=versions,
    )


def _spread(counts: I64) -> tuple[float, float, float]:
    return float(counts.min()), float(np.median(counts)), float(counts.max())


def _report_method(
    experiment: Experiment, figures: MethodFigures, parts: Sequence[Part]
) -> MethodReport:
    names = dict.fromkeys(["seconds", *(name for part in parts for name in part.measured.counts)])
    counts = {name: [get_count(name, part) for part in parts] for name in names}
    return MethodReport(
        method=figures.method,
        label=experiment.labels.get(figures.method, figures.method),
        seeds=figures.seeds,
        targets=figures.targets,
        means=figures.means,
        errors=figures.errors,
        against=figures.against,
        counts={
            name: float(np.mean([one for one in found if one is not None]))
            for name, found in counts.items()
            if any(one is not None for one in found)
        },
        version=parts[0].version,
        depends_on=parts[0].depends_on,
        commits=list(dict.fromkeys(part.commit for part in parts if part.commit)),
        settings=parts[0].measured.settings,
    )


def _report_slice(
    experiment: Experiment, part: Slice, parts: Sequence[Part], known: Known, reference: str
) -> SliceReport:
    """Return the figures of a slice's targets in the last measure."""
    selected = part.select(known)
    last = experiment.measures[-1]
    inside = [
        one._replace(
            target=[pair for pair, kept in zip(one.target, selected, strict=True) if kept],
            values={last: one.values[last][selected]},
        )
        for one in parts
    ]
    figures = compare(inside, [last], reference)
    return SliceReport(
        slice=str(part),
        targets=int(selected.sum()),
        means={one.method: one.means[last] for one in figures},
        against={one.method: one.against for one in figures},
    )
