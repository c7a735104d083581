"""What stage 1 reads of the graph: also in a process that only reasons."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from propagation.model.clients.client import Client
from propagation.model.clients.client_text import ClientText
from propagation.model.routers.round import Round
from propagation.model.routers.router import RouterVersion


class InteractionReader(Protocol):
    """See GraphStore, of which this is a part."""

    async def get_clients(self, refs: Sequence[int]) -> Sequence[Client]: ...

    async def load_texts(self, refs: Sequence[int]) -> Mapping[int, ClientText]: ...

    async def text_versions(self, refs: Sequence[int]) -> Mapping[int, int]: ...

    async def last_round(self) -> Round | None: ...

    async def waiting_messages(
        self, refs_after: Mapping[int, int], through: int | None = None
    ) -> Mapping[int, Sequence[RouterVersion]]: ...
