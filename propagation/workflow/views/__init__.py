"""Views that a process holds in memory, fed by the log."""

from propagation.workflow.views.catalogue import Catalogue, find_ref, load_client, scan_items
from propagation.workflow.views.client_memory import ClientMemory, list_erased_clients
from propagation.workflow.views.client_texts import load_texts_in_force
from propagation.workflow.views.numbers_owner import CorePool, NumbersOwner
from propagation.workflow.views.numbers_view import (
    NO_RECORD,
    OFF,
    ON,
    NumbersView,
    create_live_combiner,
    draw_seeded_directions,
)
from propagation.workflow.views.pending_events import PendingEvents
from propagation.workflow.views.reasoned_watermark import ReasonedWatermark
