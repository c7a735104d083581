"""An evolution of the routers, judged before the viewer's eyes, and which router became which."""

from collections.abc import Mapping, Sequence
from textwrap import shorten
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from propagation.v1 import propagation_pb2 as pb
from services.demo.words import NAME_CHARS, say

if TYPE_CHECKING:
    from propagation.v1.propagation_pb2_grpc import PropagationServiceAsyncStub

KINDS = {pb.EVOLUTION_KIND_SPLIT: "split", pb.EVOLUTION_KIND_MERGE: "merged", pb.EVOLUTION_KIND_REWRITE: "rewritten"}
CHANGES_SHOWN, REASON_CHARS = 8, 60


async def evolved(stub: "PropagationServiceAsyncStub") -> pb.EvolutionRun:
    """One run, published where the judge lets it."""
    return (await stub.EvolveRouters(pb.EvolveRoutersRequest())).run


def show_evolution(console: Console, run: pb.EvolutionRun, names: Mapping[int, str]) -> None:
    """The plan as lineage, and the verdict. `names`: of the routers before the run."""
    if run.changes:
        table = Table(box=None, padding=(0, 2, 0, 0))
        for column in ("routers", "", "became", "why"):
            table.add_column(column, no_wrap=True, overflow="ellipsis")
        for change in run.changes[:CHANGES_SHOWN]:
            table.add_row(escape(_named(change.before, names)), KINDS.get(change.kind, "changed"),
                          ", ".join(map(str, change.after)), escape(shorten(change.reason, REASON_CHARS, placeholder=" …")))
        console.print(table)
        if len(run.changes) > CHANGES_SHOWN:
            say(console, f"… and {len(run.changes) - CHANGES_SHOWN} more.")
    say(console, f"Verdict: {run.verdict or ('published' if run.published else 'not published')}.")
    if run.HasField("log_loss_before") and run.HasField("log_loss_after"):
        error = f", standard error {run.standard_error:.4f}" if run.HasField("standard_error") else ""
        say(console, f"What users chose last, replayed on both: log-loss {run.log_loss_before:.4f} before, "
                     f"{run.log_loss_after:.4f} after{error}.")


def _named(routers: Sequence[int], names: Mapping[int, str]) -> str:
    return ", ".join(f"{router} {shorten(names.get(router, ''), NAME_CHARS, placeholder=' …')}".strip() for router in routers)
