"""A client's first profile: what its own text says (RecNet 2.1: P_i starts as the item's semantic
characteristics)."""

from collections.abc import Sequence

from propagation.model.clients.client import Client
from propagation.model.clients.client_text import ClientText
from propagation.model.clients.profile import Edit


def undescribed(client: Client, text: ClientText) -> bool:
    """Whether a client has text of its own and no profile yet."""
    return not text.profile.version and client.has_text


def described(text: ClientText, edits: Sequence[Edit], max_lines: int) -> ClientText:
    """The first version; the same object where nothing was said."""
    if not edits:
        return text
    return ClientText(
        profile=text.profile.apply_edits(edits, max_lines),
        filter_memory=text.filter_memory,
        watermark=text.watermark,
        dropped=text.dropped,
    )
