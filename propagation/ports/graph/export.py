"""Everything that the graph holds on one client, for whoever asks what that is."""

from collections.abc import AsyncIterator, Mapping
from typing import Protocol

Held = tuple[str, Mapping[str, object]]


class ExportStore(Protocol):
    def export_client(self, ref: int) -> AsyncIterator[Held]:
        """What kind of record, and the record as JSON values; clients by id, in kinds' order.
        Kinds: client, client_before, event, retracted_event, written, reasoned, dead_letter,
        profile_version, gradient, merge, brought, held_attributes, edge, point."""
