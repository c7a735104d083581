"""Small named facts about the whole graph: embedder state, settings the data was made with."""

from typing import Protocol


class BlobStore(Protocol):
    async def get_blob(self, name: str) -> bytes | None: ...

    async def put_blob(self, name: str, value: bytes) -> None: ...
