"""What became of an event, in the proto's words."""

from propagation.model.interactions.interaction import RecordOutcome, RecordStatus
from propagation.v1 import propagation_pb2 as pb

REASONS = {
    RecordStatus.CONFLICT: (
        "event_id",
        "CONFLICT",
        "was used before with other content; give this event its own id",
    ),
    RecordStatus.UNKNOWN_USER: (
        "user_id",
        "UNKNOWN",
        "is not known; upsert the user first, or turn on auto_create",
    ),
    RecordStatus.UNKNOWN_ITEM: (
        "item_id",
        "UNKNOWN",
        "is not known; upsert the item first, or turn on auto_create",
    ),
    RecordStatus.UNKNOWN_NEGATIVE: (
        "negative_item_id",
        "UNKNOWN",
        "is not known; upsert the item first",
    ),
    RecordStatus.FORGOTTEN: ("event_id", "FORGOTTEN", "was erased with its client"),
}


def reject(outcome: pb.InteractionOutcome, field: str, reason: str, detail: str) -> None:
    outcome.status = pb.INTERACTION_STATUS_REJECTED
    outcome.field, outcome.reason, outcome.detail = field, reason, detail


def fill(outcome: pb.InteractionOutcome, recorded: RecordOutcome) -> None:
    """Take what the record commit said of the event."""
    outcome.sequence = recorded.sequence
    if recorded.status == RecordStatus.ACCEPTED:
        outcome.status = pb.INTERACTION_STATUS_ACCEPTED
    elif recorded.status == RecordStatus.DUPLICATE:
        outcome.status = pb.INTERACTION_STATUS_DUPLICATE
    else:
        reject(outcome, *REASONS[recorded.status])
