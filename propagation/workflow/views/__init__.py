"""Views that a process holds in memory, fed by the log."""

from propagation.workflow.views.catalogue import Catalogue, load_client, scan_items
from propagation.workflow.views.client_memory import ClientMemory, erased_clients
from propagation.workflow.views.numbers_owner import CorePool, NumbersOwner, usable_cores
from propagation.workflow.views.numbers_view import (
    NO_RECORD,
    OFF,
    ON,
    NumbersView,
    live_combiner,
    seeded_directions,
)
from propagation.workflow.views.pending_events import PendingEvents
from propagation.workflow.views.reasoned_watermark import ReasonedWatermark

__all__ = [
    "NO_RECORD",
    "OFF",
    "ON",
    "Catalogue",
    "ClientMemory",
    "CorePool",
    "NumbersOwner",
    "NumbersView",
    "PendingEvents",
    "ReasonedWatermark",
    "erased_clients",
    "live_combiner",
    "load_client",
    "scan_items",
    "seeded_directions",
    "usable_cores",
]
