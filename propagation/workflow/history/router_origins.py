"""Origins of messages in evolutions, which write messages, too."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from propagation.model import EvolutionKind, EvolutionRun, RouterVersion
from propagation.ports import GraphStore


@dataclass(frozen=True)
class EvolutionOrigin:
    """The evolution that wrote a message.

    Attributes:
        sequence: The sequence of the run's publication.
        kind: What the run did to the router; None if an undo gave it its earlier text back.
        before: The numbers, before the run, of the routers that the message's router came from.
        undoes: The run that this run undid; None for any other run.
    """

    run: int
    sequence: int
    kind: EvolutionKind | None
    before: tuple[int, ...]
    undoes: int | None


async def find_evolution_origins(
    store: GraphStore, messages: Iterable[RouterVersion]
) -> Mapping[tuple[int, int], EvolutionOrigin]:
    """Find the evolutions that wrote messages.

    Returns:
        By (router, version); messages that a round wrote are left out.
    """
    by_sequence: dict[int, list[RouterVersion]] = {}
    for message in messages:
        if not message.integrated:  # a message with senders is a round's
            by_sequence.setdefault(message.sequence, []).append(message)
    if not by_sequence:
        return {}
    return {
        (message.router, message.version): _describe_origin(run, message.router)
        for run in await store.get_evolution_runs_at(sorted(by_sequence))
        for message in by_sequence[run.sequence]
    }


def _describe_origin(run: EvolutionRun, router: int) -> EvolutionOrigin:
    change = next((change for change in run.changes if router in change.after), None)
    return EvolutionOrigin(
        run=run.run,
        sequence=run.sequence,
        kind=None if change is None else change.kind,
        before=(router,) if change is None else change.before,
        undoes=run.undoes,
    )
