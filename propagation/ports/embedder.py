"""The embedder, which maps texts to unit vectors."""

from collections.abc import Sequence
from typing import Protocol, Self, runtime_checkable

from propagation.model import F32, Expenses


class Embedder(Protocol):
    """Maps texts to vectors of one dimension D."""

    @property
    def name(self) -> str:
        """Model and state; embedders of one name return the same vectors."""

    @property
    def dimension(self) -> int:
        """Length D of the vectors."""

    @property
    def expenses(self) -> Expenses:
        """Costs and budgets, including those of a reasoner on the same endpoint."""

    async def embed(self, texts: Sequence[str]) -> F32:
        """Embed texts.

        Returns:
            [len(texts), D] f32, finite, rows of length 1; a row of zeros for a text without
            anything to embed, and for one that a server refuses (which is logged).

        Raises:
            ReasonerUnavailable: The server does not answer now.
            ReasonerGaveUp: The server embeds nothing at all.
        """

    def stop_within(self, seconds: float) -> None:
        """Start no more calls, and end running ones within `seconds`.

        `embed` then raises ReasonerStopping.
        """

    async def close(self) -> None:
        """Release connections. The graph store is still open."""


@runtime_checkable
class FittableEmbedder(Embedder, Protocol):
    """An embedder that bootstrap fits to the catalogue once.

    It is frozen afterwards.
    """

    def fit(self, texts: Sequence[str], seed: int) -> bytes:
        """Compute a state from a catalogue's texts.

        The embedder itself does not change. The same texts and seed give the same state.

        Returns:
            The state, for `restore` and `with_state`.
        """

    def restore(self, state: bytes | None) -> None:
        """Take over a state; None restores the unfitted one, a seeded projection.

        Raises:
            IncompatibleSettings: The state has another form or dimension.
        """

    def with_state(self, state: bytes | None) -> Self:
        """Return another embedder of the same settings with this state."""
