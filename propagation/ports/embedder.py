"""The embedder: texts to unit vectors."""

from collections.abc import Sequence
from typing import Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from propagation.model.usage import Expenses


class Embedder(Protocol):
    @property
    def name(self) -> str:
        """Model and state: two embedders of one name give the same vectors."""

    @property
    def dimension(self) -> int: ...

    @property
    def expenses(self) -> Expenses:
        """What was spent, and what the budgets are: of a reasoner on the same endpoint, too."""

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """[len(texts), D] f32, unit rows; a row of zeros for a text with nothing to embed, and for
        one that a server refuses (logged). All finite. Raises what a reasoner raises where a server
        does it: ReasonerUnavailable while it does not answer, ReasonerGaveUp where it embeds
        nothing at all."""

    def stop_within(self, seconds: float) -> None:
        """As of a reasoner: nothing more is embedded, what is under way has so many seconds."""

    async def close(self) -> None:
        """Let go of connections. The graph is still open."""


@runtime_checkable
class FittableEmbedder(Embedder, Protocol):
    """An embedder that is fitted once on the catalogue (bootstrap), and frozen after that."""

    def fit(self, texts: Sequence[str], seed: int) -> bytes:
        """A new state from a catalogue, for `restore`; this embedder is unchanged. Deterministic."""

    def restore(self, state: bytes | None) -> None:
        """Take a state; None is the unfitted one, a seeded projection. Raises IncompatibleSettings
        on a state of another form or dimension."""

    def with_state(self, state: bytes | None) -> Self:
        """Another embedder of the same make with this state, while this one goes on as it is."""
