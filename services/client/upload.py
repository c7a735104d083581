"""Upload of a dataset to a running service, over the public API.

Event ids are stable: a second upload continues where the first one stopped, and a later release of
the same data adds its new events.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from google.protobuf.timestamp_pb2 import Timestamp

from propagation.datasets.dataset import Event
from propagation.model import ClientChange, ClientKind
from propagation.v1 import propagation_pb2 as pb
from propagation_client.paging import batches
from services.client.stub import Stub

EXAMPLES = 5
KINDS = {ClientKind.USER: pb.CLIENT_KIND_USER, ClientKind.ITEM: pb.CLIENT_KIND_ITEM}
STATUS = {
    pb.INTERACTION_STATUS_ACCEPTED: "accepted",
    pb.INTERACTION_STATUS_DUPLICATE: "duplicate",
    pb.INTERACTION_STATUS_REJECTED: "rejected",
}


@dataclass
class UploadReport:
    """Counts of an upload.

    Attributes:
        outcomes: Number of events by status: accepted, duplicate, rejected.
        examples: Why the first few events were rejected.
        sequence: The `min_sequence` of a read that must reflect the upload.
    """

    clients: int = 0
    clients_changed: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)
    sequence: int = 0


async def upload(
    stub: Stub,
    clients: Iterable[ClientChange],
    events: Iterable[Event],
    progress: Callable[[int], None] = lambda _: None,
) -> UploadReport:
    """Send clients, then events in their order.

    Each call is durable before the next. After each call, `progress` is called with the number of
    clients and events that were sent so far.
    """
    report = UploadReport()
    for changes in batches(map(client_to_proto, clients)):
        answer = await stub.UpsertClients(pb.UpsertClientsRequest(clients=changes))
        report.clients += len(changes)
        report.clients_changed += sum(outcome.changed for outcome in answer.outcomes)
        report.sequence = max(report.sequence, answer.sequence)
        progress(report.clients)
    for batch in batches(map(event_to_proto, events)):
        recorded = await stub.RecordInteractions(pb.RecordInteractionsRequest(interactions=batch))
        report.sequence = max(report.sequence, recorded.sequence)
        for outcome in recorded.outcomes:
            report.outcomes[STATUS[outcome.status]] += 1
            if outcome.status == pb.INTERACTION_STATUS_REJECTED and len(report.examples) < EXAMPLES:
                report.examples.append(
                    f"event {outcome.event_id!r}: {outcome.field} {outcome.detail}"
                )
        progress(report.clients + report.outcomes.total())
    return report


def client_to_proto(change: ClientChange) -> pb.Client:
    """Convert a client of a dataset."""
    return pb.Client(
        key=pb.ClientKey(kind=KINDS[change.key.kind], id=change.key.id),
        title=change.title,
        description=change.description,
        attributes=change.attributes or (),
        categories=change.categories or (),
        hidden=change.hidden,
        metadata=change.metadata or {},
    )


def event_to_proto(event: Event) -> pb.Interaction:
    """Convert an event of a dataset."""
    return pb.Interaction(
        event_id=event.event_id,
        user_id=event.user_id,
        item_id=event.item_id,
        time=Timestamp(seconds=event.time // 1000, nanos=event.time % 1000 * 1_000_000),
        negative_item_id=event.negative_id,
        weight=event.weight,
        metadata=event.metadata,
    )
