"""Canonical attributes (DESIGN, Vocabulary): "Jazz" and "jazz music" meet."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from propagation.ports.vector_index import Collection, VectorIndex


async def canonical_names(index: VectorIndex, names: Sequence[str], vectors: NDArray[np.float32],
                          least_cosine: float) -> dict[str, str]:
    """For normalised names that are new, in the order they came up, with their vectors [len, D] (unit rows or zeros): the
    existing attribute of largest cosine, if that is at least `least_cosine`, else the name itself, which the later ones
    may then meet. Of equal cosines the older, then the first by name."""
    found: dict[str, str] = {}
    fresh: list[int] = []
    for row, name in enumerate(names):
        older = await _existing(index, vectors[row], least_cosine)
        if older is None and fresh and vectors[row].any():
            cosines = vectors[fresh] @ vectors[row]
            best = int(np.argmax(cosines))
            older = names[fresh[best]] if cosines[best] >= least_cosine else None
        if older is None:
            fresh.append(row)
        found[name] = older or name
    return found


async def _existing(index: VectorIndex, vector: NDArray[np.float32], least_cosine: float) -> str | None:
    if not vector.any():
        return None
    hits = await index.nearest(Collection.ATTRIBUTES, vector, 1)
    return str(hits[0].key) if hits and hits[0].score >= least_cosine else None


def in_canonical(names: Sequence[str], canonical: Mapping[str, str]) -> tuple[str, ...]:
    """These names as canonical ones, sorted, each once; a name that no round has seen yet stays as it is."""
    return tuple(sorted({canonical.get(name, name) for name in names}))
