"""Upkeep of a database that no service holds."""

from propagation.ports.graph.graph_store import GraphStore
from propagation.workflow.forget.retention import Retention


async def retain_all(store: GraphStore) -> int:
    """Everything that retention no longer keeps; how many rows were dropped."""
    retention, dropped = Retention(store, step=1), 0
    while (part := await retention.step()) is not None:
        dropped += part
    return dropped
