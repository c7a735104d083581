"""`propagation evaluate --vary`: one setting at several values, on the same events."""

import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from services.cli.output import print_table
from services.cli.protocols import Outcome, Progress, embedder_of, print_cost, with_bar
from services.failures import UsageProblem

if TYPE_CHECKING:
    from propagation.datasets.form import Dataset
    from propagation.evaluation.effect import Effect, EffectPoint
    from propagation.evaluation.report import Report
    from propagation.evaluation.settings import EvaluationSettings
    from propagation.evaluation.stream import Stream
    from services.settings import Settings

LOOP_EVENTS = 10_000
LEAST = {"k": 2.0, "tau": -1.0, "buffer": 1.0}
MOST = {"k": 4096.0, "tau": 1.0, "buffer": 64.0}


def measured(vary: str, dataset: "Dataset", stream: "Stream", settings: "Settings", options: "EvaluationSettings",
             first: int | None) -> Outcome:
    """Raises UsageProblem for a setting or a value that can't be varied."""
    of, values = _parsed(vary)
    effect = (_of_loop(values, dataset.first(first or LOOP_EVENTS), settings) if of == "buffer"
              else _of_numbers(of, values, stream, settings, options))

    def show() -> None:
        from propagation.evaluation.table import effect_table

        headers, rows = effect_table(effect)
        print_table(f"{effect.dataset}: the effect of {effect.of}; N@10, {effect.events:,} events, {effect.ranked:,} ranked; "
                    f"median of {effect.seeds} seeds", headers, rows, headers)
        print_cost(effect.seconds, embedder_of(settings).name)

    def draw(path: Path) -> None:
        from propagation.evaluation.plot import effect_of

        effect_of(effect, path)

    return Outcome(effect, show, draw)


def _parsed(vary: str) -> tuple[str, list[float | None]]:
    """The setting and its values; `default` is None (of tau: its quantile)."""
    of, equals, listed = vary.partition("=")
    if of not in LEAST or not equals:
        raise UsageProblem(f"--vary is {vary!r}; give k=, tau= or buffer= and values, for example k=20,40,80")
    values: list[float | None] = []
    for text in listed.split(","):
        try:
            value = None if text.strip() == "default" and of == "tau" else float(text)
        except ValueError:
            raise UsageProblem(f"--vary {of}: {text!r} is no number") from None
        if value is not None and not (LEAST[of] <= value <= MOST[of] and (of == "tau" or value == int(value))):
            raise UsageProblem(f"--vary {of}: {text} is not in {LEAST[of]:g} to {MOST[of]:g}{'' if of == 'tau' else ', whole'}")
        values.append(value)
    return of, values


def _of_numbers(of: str, values: Sequence[float | None], stream: "Stream", settings: "Settings",
                options: "EvaluationSettings") -> "Effect":
    from propagation.evaluation.effect import BASES, SHOWN, numbers_point

    begun, points, ranked = time.monotonic(), [], 0
    for value in values:
        changed = {"tau": value} if of == "tau" else {"session_k": int(value or 0), "taste_k": int(value or 0)}
        report = _report(f"{stream.name}, {of} {_written(value)}", stream, settings, options.model_copy(update=changed))
        points.append(numbers_point(of, value, report))
        ranked = report.ranked
    bases = {name: base for name, base in BASES.items() if name in SHOWN[of]}
    return _effect(of, stream.name, len(stream.user), ranked, len(options.seeds), bases, points, begun)


def _report(name: str, stream: "Stream", settings: "Settings", options: "EvaluationSettings") -> "Report":
    from propagation.evaluation.protocol import evaluate_prequential

    return with_bar(name, lambda heard: evaluate_prequential(stream, embedder_of(settings), options, progress=heard))


def _of_loop(values: Sequence[float | None], dataset: "Dataset", settings: "Settings") -> "Effect":
    """The whole loop with the offline reasoner, once a value, each on a database of its own that is removed."""
    from propagation.evaluation.effect import LOOP_BASES

    begun, points, ranked = time.monotonic(), [], 0
    for value in values:
        point, ranked = with_bar(f"{dataset.name}, buffer {_written(value)}",
                                 partial(_looped, int(value or settings.workflow.buffer), dataset, settings))
        points.append(point)
    return _effect("buffer", dataset.name, len(dataset), ranked, 1, LOOP_BASES, points, begun)


def _written(value: float | None) -> str:
    return "default" if value is None else f"{value:g}"


async def _looped(buffer: int, dataset: "Dataset", settings: "Settings", heard: Progress) -> "tuple[EffectPoint, int]":
    from propagation.evaluation.effect import loop_point
    from propagation.evaluation.loop import ranked_in_loop
    from services.assembly import laptop_engine
    from services.cli.replay import checked

    events = list(checked(dataset.events))
    with tempfile.TemporaryDirectory(prefix="propagation-effect-") as folder:
        workflow = settings.workflow.model_copy(update={"buffer": buffer})
        engine = laptop_engine(settings.model_copy(update={"database": Path(folder) / "loop.db", "workflow": workflow}))
        await engine.open()
        try:
            looped = await ranked_in_loop(engine, dataset.clients, events, lambda done: heard(done, len(events)))
            reach = await engine.store.reach()
        finally:
            await engine.close()
    counts = {"merged": sum(one.merged for one in reach), "fell out": sum(one.fell_out for one in reach)}
    return loop_point(buffer, looped, counts), len(looped.user)


def _effect(of: str, name: str, events: int, ranked: int, seeds: int, bases: dict[str, str], points: "list[EffectPoint]",
            begun: float) -> "Effect":
    from propagation.evaluation.effect import Effect
    from services.version import release

    return Effect(of=of, dataset=name, events=events, ranked=ranked, seeds=seeds, bases=bases, points=points,
                  seconds=time.monotonic() - begun, commit=release(), finished=datetime.now(UTC))
