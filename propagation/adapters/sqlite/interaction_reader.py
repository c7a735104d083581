"""Reads of stage 1 for the drafting process, on its own connection."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from propagation.adapters.sqlite.connection import Reader
from propagation.adapters.sqlite.reason.texts import newest_versions, texts_or_none_yet
from propagation.adapters.sqlite.record.clients import clients_of
from propagation.adapters.sqlite.rounds.rounds import last_rounds
from propagation.adapters.sqlite.rounds.waiting_messages import waiting_messages
from propagation.model import Client, ClientText, Round, RouterVersion


class SqliteInteractionReader:
    """InteractionReader beside the process that opened, migrated and locked the file."""

    def __init__(self, path: Path) -> None:
        self._reader = Reader(path)

    async def get_clients(self, refs: Sequence[int]) -> Sequence[Client]:
        return self._reader.read(lambda connection: clients_of(connection, refs))

    async def load_texts(self, refs: Sequence[int]) -> Mapping[int, ClientText]:
        return self._reader.read(lambda connection: texts_or_none_yet(connection, refs))

    async def text_versions(self, refs: Sequence[int]) -> Mapping[int, int]:
        return self._reader.read(lambda connection: newest_versions(connection, refs))

    async def last_round(self) -> Round | None:
        newest = self._reader.read(lambda connection: last_rounds(connection, 1))
        return newest[0] if newest else None

    async def waiting_messages(
        self, refs_after: Mapping[int, int], through: int | None = None
    ) -> Mapping[int, Sequence[RouterVersion]]:
        return self._reader.read(
            lambda connection: waiting_messages(connection, refs_after, through)
        )
