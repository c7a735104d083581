"""The read side of stage 1 on a connection of its own, for the drafting process."""

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from propagation.adapters.sqlite.connection.schema import in_snapshot, open_reader, translated
from propagation.adapters.sqlite.reason.texts import newest_versions, texts_or_none_yet
from propagation.adapters.sqlite.record.clients import clients_of
from propagation.adapters.sqlite.rounds.messages import waiting_messages
from propagation.adapters.sqlite.rounds.rounds import last_rounds
from propagation.model import Client, ClientText, Round, RouterVersion

T = TypeVar("T")


class SqliteInteractionReader:
    """InteractionReader beside the process that opened, migrated and locked the file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection: sqlite3.Connection | None = None

    async def get_clients(self, refs: Sequence[int]) -> Sequence[Client]:
        return self._read(lambda connection: clients_of(connection, refs))

    async def load_texts(self, refs: Sequence[int]) -> Mapping[int, ClientText]:
        return self._read(lambda connection: texts_or_none_yet(connection, refs))

    async def text_versions(self, refs: Sequence[int]) -> Mapping[int, int]:
        return self._read(lambda connection: newest_versions(connection, refs))

    async def last_round(self) -> Round | None:
        newest = self._read(lambda connection: last_rounds(connection, 1))
        return newest[0] if newest else None

    async def waiting_messages(
        self, refs_after: Mapping[int, int], through: int | None = None
    ) -> Mapping[int, Sequence[RouterVersion]]:
        return self._read(lambda connection: waiting_messages(connection, refs_after, through))

    def _read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Read in one snapshot."""
        try:
            self._connection = self._connection or open_reader(self._path)
            return in_snapshot(self._connection, work)
        except sqlite3.Error as error:
            raise translated(error, self._path) from error
