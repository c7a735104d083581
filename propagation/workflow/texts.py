"""What embedders read of clients and profiles."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from propagation.model.attribute import normalised
from propagation.model.client import Client
from propagation.model.profile import Profile
from propagation.ports.embedder import Embedder


def content_text(client: Client) -> str:
    """Everything a catalogue says of a client."""
    return " ".join((client.title, *client.attributes, *client.categories, client.description)).strip()


def attribute_text(client: Client) -> str:
    return " ".join(normalised(name) for name in (*client.attributes, *client.categories))


async def profile_vectors(embedder: Embedder, profiles: Sequence[Profile]) -> NDArray[np.float32]:
    """[len, D]: the lines' vectors, summed by weight and normalised; zeros for an empty profile."""
    texts = sorted({line.text for profile in profiles for line in profile.lines})
    rows = dict(zip(texts, await embedder.embed(texts), strict=True)) if texts else {}
    out = np.zeros((len(profiles), embedder.dimension), np.float32)
    for place, profile in enumerate(profiles):
        for line in profile.lines:
            out[place] += np.float32(line.weight) * rows[line.text]
    norms = np.linalg.norm(out, axis=1, keepdims=True)
    return np.divide(out, norms, out=out, where=norms > 0)
