"""Vectors for a read: soon, or not at all. A read does not wait for an endpoint that tries again
and again."""

import asyncio
import logging
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from propagation.model.errors import ReasonerFailed
from propagation.ports.embedder import Embedder

READ_SECONDS = 1.0
log = logging.getLogger(__name__)


async def embedded_soon(
    embedder: Embedder, texts: Sequence[str], what: str
) -> NDArray[np.float32] | None:
    """[len(texts), D]; None, logged as `what` being left out, where it fails or takes longer than
    READ_SECONDS."""
    try:
        async with asyncio.timeout(READ_SECONDS):
            return await embedder.embed(texts)
    except ReasonerFailed as error:
        log.warning("%s: left out: %s", what, error)
    except TimeoutError:
        log.warning("%s: left out: the embedder took longer than %g s", what, READ_SECONDS)
    return None
