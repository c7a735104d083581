"""ErasureStore on SQLite: reads before a withdrawal. The commit is in withdrawal.py."""

import asyncio
import sqlite3
from collections import defaultdict
from collections.abc import Iterator, Sequence

from propagation.adapters.sqlite.connection.client_ids import Directory
from propagation.adapters.sqlite.connection.database import Database
from propagation.adapters.sqlite.connection.json_rows import dumped
from propagation.adapters.sqlite.connection.wiping import (
    empty_log,
    forgotten_times,
    last_withdrawal,
    mark_wiped,
    write_anew,
)
from propagation.adapters.sqlite.forget.citation_search import Needles, is_said, naming, texts_along
from propagation.adapters.sqlite.forget.learned_rows import written_by
from propagation.adapters.sqlite.forget.withdrawal import WithdrawalCommit
from propagation.adapters.sqlite.learn.checkpoints import SqliteCheckpoints
from propagation.adapters.sqlite.reason.reason import ROW, interaction_of
from propagation.adapters.sqlite.reason.texts import bodies_of
from propagation.adapters.sqlite.record.forgotten_events import forgotten_among
from propagation.adapters.sqlite.record.record import signed
from propagation.adapters.sqlite.rounds.messages import brief_versions, last_round
from propagation.model import (
    MERGED_OUTCOME,
    AffectedMessage,
    Citations,
    CitationSearch,
    EventState,
    EventStatus,
    IntegratedAttribute,
    InteractionRow,
    LearnedWeights,
    MessageMerge,
    StagedCheckpoint,
    StoreBusy,
    StoredText,
    UserChoices,
    Withdrawal,
    WithdrawalResult,
    seed_of,
)
from propagation.ports import Lease

TRAILS_A_READ = 500
LOG_TRIES, LOG_PAUSE_SECONDS = 300, 0.2
READERS = (
    "SELECT m.ref, m.profile_version, m.router, m.router_version, m.outcome FROM json_each(?) e "
    "CROSS JOIN merged m"
    " INDEXED BY merged_message ON m.router = e.value->>0 AND m.router_version = e.value->>1 "
    "WHERE m.outcome = ?"
)
CHOICES = (
    "SELECT i.user, i.sequence, i.item, i.weight, c.sequence FROM json_each(?) e CROSS JOIN "
    "interaction i"
    " INDEXED BY interaction_user ON i.user = e.value CROSS JOIN client c ON c.ref = i.item "
    "ORDER BY e.key, i.sequence"
)
PARTS = (
    "SELECT attribute, ref, sequence FROM integrated WHERE router = ? AND version = ?"
    " AND attribute IN (SELECT value FROM json_each(?))"
)


class SqliteErasure:
    """Reads what a withdrawal needs, and commits it."""

    def __init__(
        self, database: Database, directory: Directory, checkpoints: SqliteCheckpoints
    ) -> None:
        self._database = database
        self._directory = directory
        self._checkpoints = checkpoints

    async def event_statuses(self, event_ids: Sequence[str]) -> Sequence[EventState]:
        return await self._database.read(lambda connection: list(_standings(connection, event_ids)))

    async def interactions_of_clients(self, refs: Sequence[int]) -> Sequence[InteractionRow]:
        def work(connection: sqlite3.Connection) -> Sequence[InteractionRow]:
            asked = dumped(sorted(set(refs)))
            rows = connection.execute(
                f"SELECT {ROW} FROM interaction WHERE user IN (SELECT value FROM json_each(?1))"
                f" UNION SELECT {ROW} FROM interaction WHERE item IN (SELECT value FROM "
                "json_each(?1))"
                " ORDER BY sequence",
                (asked,),
            )
            return [interaction_of(row) for row in rows]

        return await self._database.read(work)

    async def user_choices(self, users: Sequence[int]) -> UserChoices:
        return await self._database.read(
            lambda connection: UserChoices.from_rows(
                connection.execute(CHOICES, (dumped(sorted(set(users))),)).fetchall()
            )
        )

    async def learned_weights(self, sequences: Sequence[int]) -> LearnedWeights:
        return await self._database.read(lambda connection: written_by(connection, sequences))

    async def find_citing_texts(self, trails: Sequence[CitationSearch]) -> Sequence[StoredText]:
        found: dict[tuple[int, int], StoredText] = {}
        ordered = sorted(trails, key=lambda trail: trail.ref)
        for start in range(0, len(ordered), TRAILS_A_READ):
            some = ordered[start : start + TRAILS_A_READ]
            for one in await self._database.read(
                lambda connection, some=some: list(texts_along(connection, some))  # type: ignore[misc]
            ):
                found[one.text.profile.ref, one.text.profile.version] = one
        return [found[key] for key in sorted(found)]

    async def names_used_by_others(self, ref: int, names: frozenset[str]) -> frozenset[str]:
        return await self._database.read(
            lambda connection: frozenset(name for name in names if is_said(connection, ref, name))
        )

    async def clients_naming(self, words: frozenset[str]) -> frozenset[int]:
        needles = Needles.of([Citations(words=words)])
        found: set[int] = set()
        row = 0
        while True:
            last, refs = await self._database.read(
                lambda connection, row=row: naming(connection, needles, row)  # type: ignore[misc]
            )
            if last == row:
                return frozenset(found)
            found |= refs
            row = last

    async def affected_messages(
        self,
        refs: Sequence[int],
        sequences: frozenset[int] | None,
        words: frozenset[str],
        limit: int,
    ) -> Sequence[AffectedMessage]:
        return await self._database.read(
            lambda connection: list(_messages(connection, refs, sequences, words, limit))
        )

    async def merges_of_messages(
        self, messages: Sequence[tuple[int, int]]
    ) -> Sequence[MessageMerge]:
        return await self._database.read(
            lambda connection: [
                MessageMerge(*row)
                for row in connection.execute(READERS, (dumped(list(messages)), MERGED_OUTCOME))
            ]
        )

    async def withdraw(
        self, lease: Lease, withdrawal: Withdrawal, barrier: StagedCheckpoint
    ) -> WithdrawalResult:
        rewritten, texts = await bodies_of(withdrawal.rewritten), await bodies_of(withdrawal.texts)
        done = await self._database.write(
            lambda connection: WithdrawalCommit(
                connection, self._directory, lease, withdrawal, barrier, rewritten, texts
            ).run()
        )
        self._checkpoints.sweep_beside()
        return done

    async def last_withdrawal(self) -> int:
        return await self._database.read(last_withdrawal, 1)

    async def wiping_due(self) -> bool:
        return await self._database.read(forgotten_times) > 0

    @property
    def wipes_in_seconds(self) -> bool:
        return False  # the file is written anew, which holds up commits

    async def wipe(self) -> None:
        times = await self._database.read(forgotten_times)
        # First: what is dropped after the file was written anew would stay in its free pages.
        await self._checkpoints.sweep_checkpoints()
        await self._empty_log()
        await self._database.alone(write_anew)
        await self._empty_log()
        await self._database.write(lambda connection: mark_wiped(connection, times))

    async def _empty_log(self) -> None:
        """Empty the write-ahead log; raise StoreBusy if a reader needs it for a minute."""
        for _ in range(LOG_TRIES):
            if await self._database.alone(empty_log):
                return
            await asyncio.sleep(LOG_PAUSE_SECONDS)
        raise StoreBusy(
            f"{self._database.path}: another program has been reading the file for a minute, so"
            " traces of forgotten clients stay in it; the service tries again in the night"
        )


def _standings(connection: sqlite3.Connection, event_ids: Sequence[str]) -> Iterator[EventState]:
    forgotten = forgotten_among(connection, event_ids)
    for event_id in event_ids:
        seed = signed(seed_of(event_id))
        row = connection.execute(
            f"SELECT {ROW} FROM interaction WHERE seed = ? AND event_id = ?", (seed, event_id)
        ).fetchone()
        if row is not None:
            yield EventState(EventStatus.RECORDED, interaction_of(row))
        elif connection.execute(
            "SELECT 1 FROM retracted WHERE seed = ? AND event_id = ?", (seed, event_id)
        ).fetchone():
            yield EventState(EventStatus.RETRACTED)
        else:
            yield EventState(
                EventStatus.FORGOTTEN if event_id in forgotten else EventStatus.UNKNOWN
            )


def _messages(
    connection: sqlite3.Connection,
    refs: Sequence[int],
    sequences: frozenset[int] | None,
    words: frozenset[str],
    limit: int,
) -> Iterator[AffectedMessage]:
    gone: dict[tuple[int, int], list[IntegratedAttribute]] = defaultdict(list)
    last = last_round(connection)
    for router, version, attribute, ref, profile_version, sequence in connection.execute(
        "SELECT router, version, attribute, ref, profile_version, sequence FROM integrated"
        " WHERE ref IN (SELECT value FROM json_each(?))",
        (dumped(sorted(set(refs))),),
    ):
        if sequences is None or sequence in sequences:
            gone[router, version].append(
                IntegratedAttribute(attribute, ref, profile_version, sequence)
            )
    keys = set(gone)
    if words:
        keys.update(
            connection.execute("SELECT router, version FROM router_version WHERE text = ''")
        )
    for word in sorted(words):
        keys.update(
            connection.execute(
                "SELECT router, version FROM router_version WHERE instr(text, ?1) OR instr(name, "
                "?1)"
                " OR instr(attributes, ?1) OR instr(standing, ?1)",
                (word,),
            )
        )
    for key, message in sorted(brief_versions(connection, sorted(keys)).items()):
        if message.round <= last:
            yield AffectedMessage(
                message, gone.get(key, ()), _left(connection, key, gone.get(key, ()), limit)
            )


def _left(
    connection: sqlite3.Connection,
    key: tuple[int, int],
    gone: Sequence[IntegratedAttribute],
    limit: int,
) -> dict[str, frozenset[int]]:
    """Return who else brought each attribute that loses a part, read only as far as needed."""
    left: dict[str, set[int]] = {part.attribute: set() for part in gone}
    going = {(part.attribute, part.ref, part.sequence) for part in gone}
    short = set(left)
    for attribute, ref, sequence in (
        connection.execute(PARTS, (*key, dumped(sorted(short)))) if short else ()
    ):
        if attribute in short and (attribute, ref, sequence) not in going:
            left[attribute].add(ref)
            if len(left[attribute]) >= limit:
                short.discard(attribute)
                if not short:
                    break
    return {attribute: frozenset(clients) for attribute, clients in left.items()}
