"""`propagation evaluate --vary`: one setting at several values, on the same events."""

import time
from collections.abc import Callable, Sequence

from propagation.datasets.dataset import Dataset
from propagation.evaluation.protocols.effect import (
    BASES,
    EVOLVED,
    LOOP_BASES,
    NONE_MEANS,
    SHOWN,
    UNEVOLVED,
    Effect,
    build_loop_point,
    build_numbers_point,
    describe_value,
)
from propagation.evaluation.protocols.numbers_ranking import Report
from propagation.evaluation.protocols.whole_loop import LoopRanking, rank_in_loop
from propagation.evaluation.reports.plot import plot_effect
from propagation.evaluation.reports.table import build_effect_gains, build_effect_levels
from propagation.evaluation.stream import EvaluationSettings, Stream
from propagation.forced_exit import create_temporary_folder
from propagation.model import EvolutionKind, pluralize
from propagation.release import release
from propagation.workflow.engine import Engine
from services.assembly import FITTABLE_EMBEDDERS
from services.cli.access import with_engine
from services.cli.research.datasets import check_events
from services.cli.research.protocols import Outcome, rank_stream, write_cost_notes
from services.client.errors import UsageProblem
from services.config.settings import Settings
from services.runtime.console import show_progress
from services.runtime.kernel_cache import compile_kernels

LOOP_EVENTS = 10_000
LEAST = {"k": 2.0, "tau": -1.0, "buffer": 1.0, "evolution": 1.0}
MOST = {"k": 4096.0, "tau": 1.0, "buffer": 64.0, "evolution": 10_000.0}
EVERY_MERGE = 1 << 40
LOOPED = {"buffer": "buffer", "evolution": "evolve_every_rounds"}


def measure(
    vary: str,
    dataset: Dataset,
    stream: Stream,
    settings: Settings,
    options: EvaluationSettings,
    first: int | None,
) -> Outcome:
    """Measure the effect of a setting.

    Raises:
        UsageProblem: The setting or a value cannot be varied.
    """
    of, values = _parse(vary)
    effect = (
        _vary_loop(of, values, dataset.first(first or LOOP_EVENTS), settings)
        if of in LOOPED
        else _vary_numbers(of, values, stream, settings, options)
    )

    title = (
        f"{effect.dataset}: the effect of {effect.of}; N@10,"
        f" {pluralize(effect.events, 'event')}, {effect.ranked:,} ranked; "
        + (
            "one run of the whole loop for each value; --seeds is ignored"
            if effect.seed is None
            else f"seed {effect.seed}, the median of {effect.seeds} at the first value"
        )
    )
    tables = [
        (name, headers, rows, headers)
        for name, (headers, rows) in (
            (title, build_effect_levels(effect)),
            ("the same, paired", build_effect_gains(effect)),
        )
    ]
    notes = write_cost_notes(effect.seconds, effect.embedder)
    if of == "evolution" and not any(point.counts["published"] for point in effect.points):
        notes.insert(
            0,
            "No evolution went live at any of these values, so all rows show the same pass: take"
            " more events (--first), or set evolve_support and holdout lower.",
        )
    return Outcome(effect, tables, notes, lambda path: plot_effect(effect, path))


def _parse(vary: str) -> tuple[str, list[float | None]]:
    """Return the setting and its values; NONE_MEANS says what None is.

    The first value of evolution is always None (`off`): the others are compared with it.
    """
    of, equals, listed = vary.partition("=")
    if of not in LEAST or not equals:
        raise UsageProblem(
            f"--vary is {vary!r}; give k=, tau=, buffer= or evolution= and values, for example "
            "k=20,40,80"
        )
    values: list[float | None] = []
    for text in listed.split(","):
        try:
            value = None if text.strip() == NONE_MEANS.get(of) else float(text)
        except ValueError:
            raise UsageProblem(f"--vary {of}: {text!r} is not a number") from None
        if value is not None and not (
            LEAST[of] <= value <= MOST[of] and (of == "tau" or value == int(value))
        ):
            raise UsageProblem(
                f"--vary {of}: {text} is not a {'' if of == 'tau' else 'whole '}number from"
                f" {LEAST[of]:g} to {MOST[of]:g}"
            )
        values.append(value)
    return of, [
        None,
        *(value for value in values if value is not None),
    ] if of == "evolution" else values


def _vary_numbers(
    of: str,
    values: Sequence[float | None],
    stream: Stream,
    settings: Settings,
    options: EvaluationSettings,
) -> Effect:
    begun = time.monotonic()
    reports: list[Report] = []
    for value in values:
        changed = (
            {"tau": value}
            if of == "tau"
            else {"session_k": int(value or 0), "taste_k": int(value or 0)}
        )
        reports.append(
            rank_stream(
                f"{stream.name}, {of} {describe_value(of, value)}",
                stream,
                settings,
                options.model_copy(update=changed),
                reported=reports[0].seed if reports else None,
            )
        )
    return Effect(
        of=of,
        dataset=stream.name,
        events=len(stream.user),
        ranked=reports[-1].ranked,
        notes=stream.notes,
        seeds=len(options.seeds),
        seed=reports[0].seed,
        embedder=reports[0].embedder,
        bases={name: base for name, base in BASES.items() if name in SHOWN[of]},
        points=[
            build_numbers_point(of, value, report)
            for value, report in zip(values, reports, strict=True)
        ],
        seconds=time.monotonic() - begun,
        commit=release(),
    )


def _vary_loop(
    of: str, values: Sequence[float | None], dataset: Dataset, settings: Settings
) -> Effect:
    """Run the whole loop once for each value of a setting.

    The loop runs with the offline reasoner, on a temporary database.
    """
    compile_kernels()
    begun, points, first = time.monotonic(), [], None
    for value in values:
        workflow = settings.workflow.model_copy(
            update={LOOPED[of]: None if value is None else int(value)}
        )
        changed = settings.model_copy(update={"workflow": workflow})
        with show_progress(f"{dataset.name}, {of} {describe_value(of, value)}") as bar:
            looped, counts = _rank_in_loop(of, dataset, changed, bar)
        first = first or looped
        points.append(build_loop_point(value, looped, counts, first if of == "evolution" else None))
    return Effect(
        of=of,
        dataset=dataset.name,
        events=len(dataset),
        ranked=len(first.user) if first else 0,
        notes=dataset.notes,
        seeds=1,
        seed=None,
        embedder=FITTABLE_EMBEDDERS[settings.embedder](settings).name,
        bases={**LOOP_BASES, EVOLVED: UNEVOLVED} if of == "evolution" else LOOP_BASES,
        points=points,
        seconds=time.monotonic() - begun,
        commit=release(),
    )


def _rank_in_loop(
    of: str, dataset: Dataset, settings: Settings, progress: Callable[[int, int | None], None]
) -> tuple[LoopRanking, dict[str, int]]:
    events = list(check_events(dataset.events))

    async def rank(engine: Engine) -> tuple[LoopRanking, dict[str, int]]:
        looped = await rank_in_loop(
            engine, dataset.clients, events, lambda done: progress(done, len(events))
        )
        counts = await (_count_evolved(engine) if of == "evolution" else _count_buffered(engine))
        return looped, counts

    with create_temporary_folder("propagation-effect-") as folder:
        alone = settings.model_copy(
            update={
                "store": "sqlite",
                "database": folder / "loop.db",
                "index": "numpy",
                "reasoner": "offline",
            }
        )
        return with_engine(alone, rank, create=True)


async def _count_buffered(engine: Engine) -> dict[str, int]:
    reach = await engine.store.count_message_reach(EVERY_MERGE)
    return {
        "merged": sum(one.merged for one in reach),
        "fell out": sum(one.fell_out for one in reach),
    }


async def _count_evolved(engine: Engine) -> dict[str, int]:
    """Count evolution runs, published ones, changes, and routers."""
    store = engine.store
    last = await store.get_last_round()
    runs = await store.get_evolution_runs(last.number if last else 1)
    published = [run for run in runs if run.published]
    kinds = [change.kind for run in published for change in run.changes]
    return {
        "runs": len(runs),
        "published": len(published),
        **{f"{kind.value}s": kinds.count(kind) for kind in EvolutionKind},
        "routers": len(engine.routers_in_use),
    }
