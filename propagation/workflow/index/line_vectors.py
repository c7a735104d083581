"""Cache of the vectors of profile lines."""

from collections import OrderedDict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from propagation.ports.embedder import Embedder
from propagation.workflow.views.client_texts import IndexedText

LINES_KEPT, LINES_LEAST, LINES_AT_ONCE = 65_536, 4_096, 2_048


class LineVectors:
    """Embeds the lines of profiles, and keeps the vectors of the last 65,536: one interaction
    changes one line in twelve."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._row_of: OrderedDict[str, int] = OrderedDict()
        self._vectors = np.zeros((0, embedder.dimension), np.float32)
        self._model = embedder.name

    async def embed_new(self, texts: Sequence[IndexedText]) -> None:
        """Embed what is new among all their lines at once: an endpoint is asked in as few calls as
        it takes."""
        lines = list(dict.fromkeys(line for text in texts for line in text.lines))
        for start in range(0, len(lines), LINES_AT_ONCE):
            await self._line_vectors(lines[start : start + LINES_AT_ONCE])

    async def profile_vectors(self, texts: Sequence[IndexedText]) -> NDArray[np.float32]:
        """[len, D]: each profile's lines, summed by weight and normalised; zeros for an empty
        profile."""
        row_of = {
            line: row
            for row, line in enumerate(dict.fromkeys(line for text in texts for line in text.lines))
        }
        counts = np.array([len(text.lines) for text in texts], np.int64)
        out = np.zeros((len(texts), self._embedder.dimension), np.float32)
        if row_of:
            vectors = await self._line_vectors(list(row_of))
            rows = np.array([row_of[line] for text in texts for line in text.lines])
            weights = np.array([weight for text in texts for weight in text.weights], np.float32)
            written = counts > 0
            starts = (np.cumsum(counts) - counts)[written]
            out[written] = np.add.reduceat(vectors[rows] * weights[:, None], starts)
        norms = np.linalg.norm(out, axis=1, keepdims=True)
        out /= np.where(norms > 0, norms, 1)
        return out

    async def _line_vectors(self, lines: Sequence[str]) -> NDArray[np.float32]:
        """[len, D] of distinct lines. What is kept is taken before what is new is waited for:
        others may put it out meanwhile."""
        if self._model != self._embedder.name:
            self._row_of.clear()
            self._model = self._embedder.name
        rows = np.zeros((len(lines), self._embedder.dimension), np.float32)
        known = [row for row, line in enumerate(lines) if line in self._row_of]
        rows[known] = self._vectors[[self._row_of[lines[row]] for row in known]]
        for row in known:
            self._row_of.move_to_end(lines[row])
        new = sorted(set(range(len(lines))).difference(known), key=lines.__getitem__)
        if new:
            model = self._embedder.name
            rows[new] = await self._embedder.embed([lines[row] for row in new])
            if (
                not self._model == model == self._embedder.name
            ):  # what it made is of no use any more
                return await self._line_vectors(lines)
        for row in new:
            if lines[row] not in self._row_of:  # another caller may have embedded it meanwhile
                place = self._row_of[lines[row]] = self._free_row()
                self._vectors[place] = rows[row]
        return rows

    def _free_row(self) -> int:
        """A free row; that of the line which was not used for longest where there is none."""
        if len(self._row_of) >= LINES_KEPT:
            return self._row_of.popitem(last=False)[1]
        if len(self._row_of) == len(self._vectors):
            more = np.zeros(
                (max(LINES_LEAST, len(self._vectors)), self._embedder.dimension), np.float32
            )
            self._vectors = np.concatenate([self._vectors, more])
        return len(self._row_of)
