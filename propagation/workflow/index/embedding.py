"""Texts for the embedder, and embedding under a deadline for reads."""

import asyncio
import logging
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from propagation.model.clients.attribute import normalize_name
from propagation.model.clients.client import Client
from propagation.model.errors import ReasonerFailed
from propagation.ports.embedder import Embedder

READ_DEADLINE_SECONDS = 1.0
log = logging.getLogger(__name__)


async def embed_within_deadline(
    embedder: Embedder, texts: Sequence[str], purpose: str
) -> NDArray[np.float32] | None:
    """Embed texts for a read request; give up after READ_DEADLINE_SECONDS.

    Args:
        purpose: Names the missing part in the log, e.g. "messages of an explanation".

    Returns:
        Vectors [len(texts), D], or None if the embedder failed or was too slow.
    """
    try:
        async with asyncio.timeout(READ_DEADLINE_SECONDS):
            return await embedder.embed(texts)
    except ReasonerFailed as error:
        log.warning("%s: left out: %s", purpose, error)
    except TimeoutError:
        log.warning(
            "%s: left out: the embedder took longer than %g s", purpose, READ_DEADLINE_SECONDS
        )
    return None


def content_text(client: Client) -> str:
    """Join everything that the catalogue says of a client."""
    return " ".join(
        (client.title, *client.attributes, *client.categories, client.description)
    ).strip()


def attribute_text(client: Client) -> str:
    """Join a client's attributes and categories, each in its normal form."""
    return " ".join(normalize_name(name) for name in (*client.attributes, *client.categories))
