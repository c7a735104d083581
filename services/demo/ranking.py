"""Ranking quality in the demo, measured in a second process.

Propagation is off, on and placebo.
"""

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from rich.console import Console
from rich.table import Table

from propagation.adapters.offline.embedder import HashedEmbedder
from propagation.evaluation.protocols.metrics import ArmReport, Paired
from propagation.evaluation.protocols.prequential import Report, evaluate_prequential
from propagation.evaluation.reports.table import FOOTNOTE
from propagation.evaluation.stream import EvaluationSettings, stream_of
from propagation.forced_exit import temporary_folder
from propagation.model import InvalidInput, pluralize
from services.client.errors import ChildFailed
from services.demo.data import make_script
from services.demo.printing import say
from services.demo.processes import child, exit_in_words, keep_log, last_lines

ARMS = {
    "off": "propagation off",
    "adoption": "propagation on",
    "placebo": "placebo: the same, routers shuffled",
}
CLEAR_T = 3.0
SEEDS = (1,)
Ranking = Callable[[], Awaitable[Report | str]]
MEASURE = "services.demo.ranking"


@asynccontextmanager
async def start_ranking(folder: Path | None, seed: int) -> AsyncIterator[Ranking]:
    """Start measuring in a second process.

    Yields a function that waits for the report, or for why there is none.

    Raises:
        ChildFailed: The process failed.
    """
    with temporary_folder("propagation-demo-") as place:
        log = place / "evaluation.log"
        with log.open("wb") as errors:
            async with child(
                MEASURE, [str(seed), *([str(folder)] if folder else [])], errors.fileno()
            ) as process:

                async def report() -> Report | str:
                    out, _ = await process.communicate()
                    if process.returncode:
                        said = await last_lines(log)
                        raise ChildFailed(
                            f"the evaluation {exit_in_words(process.returncode)}: {said}; its "
                            f"log: {keep_log(log)}"
                        )
                    return (
                        Report.model_validate_json(out)
                        if out.startswith(b"{")
                        else out.decode().strip()
                    )

                yield report


def show_ranking(console: Console, report: Report | str) -> None:
    """Print the three arms and what they mean."""
    if isinstance(report, str):
        say(console, f"Nothing was ranked: {report}.")
        return
    say(
        console,
        f"Every event is predicted, then learned. Reported: the later {report.ranked:,} of"
        f" {pluralize(report.events, 'event')}. N@10: 1 where the item that was chosen stands first"
        " among ten, .29 where last.",
    )
    table = Table(box=None, padding=(0, 3, 0, 0))
    for column in ("", "N@10", "first of ten", "against off, by user", "t"):
        table.add_column(column, justify="left" if not column else "right")
    for name, label in ARMS.items():
        table.add_row(label, *_figures(report.arm(name)))
    console.print(table)
    say(console, FOOTNOTE)
    say(console, verdict(*(report.arm(name).against_off for name in ("adoption", "placebo"))))


def _figures(arm: ArmReport) -> tuple[str, ...]:
    pair = arm.against_off
    return (
        "-" if arm.n10 is None else f"{arm.n10:.3f}",
        "-" if arm.hr1 is None else f"{arm.hr1:.0%}",
        f"{pair.mean:+.3f}" if pair else "",
        f"{pair.t:.1f}" if pair and pair.t is not None else "",
    )


def verdict(on: Paired | None, placebo: Paired | None) -> str:
    """Return in words how propagation and the placebo compare with off."""
    if on is None or on.t is None or placebo is None:
        return "Too few events were ranked to tell a difference."
    told = "No clear difference here"
    if abs(on.t) >= CLEAR_T and abs(on.mean) > abs(placebo.mean):
        told = "Here propagation helps" if on.mean > 0 else "Here propagation hurts"
    clear = placebo.t is not None and abs(placebo.t) >= CLEAR_T
    control = (
        f"the placebo differs from off by {placebo.mean:+.3f}"
        if clear
        else "the placebo does nothing, as it should"
    )
    return (
        f"{told}; {control}. (t: paired over users. Clear is a difference with t of at least"
        f" {CLEAR_T:g} that is larger than the placebo's.)"
    )


def measure(seed: int, folder: Path | None) -> None:
    """Print the report on the demo's events as JSON.

    If there is none, a line says why.

    Source: `python -m services.demo.ranking SEED [FOLDER]`, which `start_ranking` runs.
    """
    try:
        stream = stream_of(make_script(folder, seed).dataset)
    except InvalidInput as error:
        print(error)
        return
    report = asyncio.run(
        evaluate_prequential(stream, HashedEmbedder(seed), EvaluationSettings(seeds=SEEDS))
    )
    print(report.model_dump_json())


if __name__ == "__main__":
    measure(int(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else None)
