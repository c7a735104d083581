"""The demo of an evolution: its plan, its verdict, its lineage."""

from collections.abc import Mapping
from textwrap import shorten

from rich.console import Console

from propagation.v1 import propagation_pb2 as pb
from services.client.stub import Stub
from services.demo.shown.printing import NAME_CHARS, say

KINDS = {
    pb.EVOLUTION_KIND_SPLIT: "split",
    pb.EVOLUTION_KIND_MERGE: "merge",
    pb.EVOLUTION_KIND_REWRITE: "rewrite",
}
CHANGES_SHOWN, NUMBERS_CHARS, REASON_CHARS = 6, 18, 78


async def run_evolution(stub: Stub) -> pb.EvolutionRun:
    """Run one evolution, which is published if the judge lets it."""
    return (await stub.EvolveRouters(pb.EvolveRoutersRequest())).run


def show_evolution(console: Console, run: pb.EvolutionRun, names: Mapping[int, str]) -> None:
    """Print the plan as lineage, and the verdict.

    Args:
        names: Names of the routers before the run.
    """
    for change in run.changes[:CHANGES_SHOWN]:
        numbers = f"{' + '.join(map(str, change.before))} → {' + '.join(map(str, change.after))}"
        called = "; ".join(
            shorten(names.get(router, f"router {router}"), NAME_CHARS, placeholder=" …")
            for router in change.before
        )
        say(console, f"  {numbers:<{NUMBERS_CHARS}}{KINDS.get(change.kind, 'change')}: {called}")
        if change.reason:
            say(
                console,
                f"  {'':<{NUMBERS_CHARS}}{shorten(change.reason, REASON_CHARS, placeholder=' …')}",
            )
    if len(run.changes) > CHANGES_SHOWN:
        say(console, f"  … and {len(run.changes) - CHANGES_SHOWN} more.")
    say(
        console,
        f"Verdict: {run.verdict or ('published' if run.published else 'not published')}.".replace(
            "..", "."
        ),
    )
    say(
        console,
        "They are live as a new epoch." if run.published else "The routers stay as they were.",
    )
