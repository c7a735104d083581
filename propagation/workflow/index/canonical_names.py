"""Canonical names: which attribute stands for which others, as rounds mapped them."""

from collections.abc import Mapping

from propagation.ports import GraphStore


class CanonicalNames:
    """The attributes that rounds mapped to others, with their canonical names.

    Attributes:
        targets: Canonical name by mapped name.
        round: The newest round that this process published or followed; -1 after a failed round,
            so that `refresh` drops its names.
    """

    def __init__(self, store: GraphStore) -> None:
        self._store = store
        self.targets: dict[str, str] = {}
        self.round = 0

    async def load(self) -> None:
        """Load the names as the newest round left them."""
        last = await self._store.get_last_round()
        self.targets = {
            attribute.name: attribute.canonical
            for attribute in await self._store.get_all_attributes()
            if attribute.canonical is not None
        }
        self.round = last.number if last else 0

    async def refresh(self) -> bool:
        """Load the names again if a newer round was published.

        Returns:
            Whether a newer one was published.
        """
        last = await self._store.get_last_round()
        if (last.number if last else 0) <= self.round:
            return False
        await self.load()
        return True

    def add(self, mapped: Mapping[str, str], published: int = 0) -> None:
        """Add the names that a round of this process mapped.

        Args:
            published: The round's number once it is published; 0 before.
        """
        self.targets.update(mapped)
        self.round = max(self.round, published)

    def forget(self, names: frozenset[str], unmapped: frozenset[str]) -> None:
        """Forget names that no longer exist.

        Args:
            names: Attributes that no longer exist; nothing is mapped to them any more.
            unmapped: Names that are no longer mapped.
        """
        self.targets = {
            name: target
            for name, target in self.targets.items()
            if name not in unmapped and target not in names
        }
