"""A client's first profile: what its own text says (RecNet 2.1: P_i starts as the item's semantic characteristics)."""

from propagation.model.client import Client
from propagation.model.text import ClientText
from propagation.ports.reasoner import Reasoner


async def described(reasoner: Reasoner, client: Client, text: ClientText, max_lines: int) -> ClientText:
    """The first version of a client that has text and no profile yet; else the same object. Raises ReasonerFailed."""
    if text.profile.version or not client.has_text:
        return text
    edits = await reasoner.describe(client)
    if not edits:
        return text
    return ClientText(profile=text.profile.edited(edits, max_lines), filter_memory=text.filter_memory,
                      watermark=text.watermark, dropped=text.dropped)
