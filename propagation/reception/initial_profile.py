"""A client's first profile: what its own text says (RecNet 2.1, where P_i starts from the item)."""

from collections.abc import Sequence

from propagation.model.clients.client import Client
from propagation.model.clients.client_text import ClientText
from propagation.model.clients.profile import Edit


def lacks_profile(client: Client, text: ClientText) -> bool:
    """Tell whether a client has text of its own and no profile yet."""
    return not text.profile.version and client.has_text


def first_profile(text: ClientText, edits: Sequence[Edit], max_lines: int) -> ClientText:
    """Write the first version of a profile; without edits, return the same object."""
    if not edits:
        return text
    return ClientText(
        profile=text.profile.apply_edits(edits, max_lines),
        filter_memory=text.filter_memory,
        watermark=text.watermark,
        dropped=text.dropped,
    )
