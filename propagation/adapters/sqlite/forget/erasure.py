"""ErasureStore on SQLite: the reads before a withdrawal.

The commit is in withdrawal.py.
"""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from functools import partial

import orjson

from propagation.adapters.shared.text_bodies import encode_words
from propagation.adapters.sqlite.connection import LAST_WITHDRAWAL, read_progress, reads, to_json
from propagation.adapters.sqlite.forget.citation_search import (
    find_clients_naming,
    find_replaced_naming,
    is_used_by_another,
    search_texts,
)
from propagation.adapters.sqlite.forget.learned_rows import read_weights
from propagation.adapters.sqlite.forget.retention import OLDEST_KEPT
from propagation.adapters.sqlite.forget.wiping import SqliteWiping
from propagation.adapters.sqlite.forget.withdrawal import WithdrawalCommit, find_orphans
from propagation.adapters.sqlite.reason.reason import read_event, read_interactions_where
from propagation.adapters.sqlite.reason.texts import pack_bodies
from propagation.adapters.sqlite.record.record import find_forgotten
from propagation.adapters.sqlite.rounds.messages import read_brief_versions
from propagation.graph_rules import (
    CitationMatcher,
    choose_affected_keys,
    choose_counted_attributes,
    decide_event_states,
    find_indebted_routers,
)
from propagation.model import (
    AffectedMessage,
    CitationSearch,
    EventState,
    IntegratedAttribute,
    InteractionRow,
    LearnedWeights,
    MessageMerge,
    RouterVersion,
    StagedCheckpoint,
    StoredText,
    UserChoices,
    Withdrawal,
    WithdrawalResult,
    derive_seed,
    group_pairs,
    split_into_batches,
)
from propagation.ports import Lease

SEARCHES_A_READ = 500
READERS = (
    "SELECT m.ref, m.profile_version, m.router, m.router_version, m.outcome FROM json_each(?) e "
    "CROSS JOIN merged m"
    " INDEXED BY merged_message ON m.router = e.value->>0 AND m.router_version = e.value->>1"
)
RETRACTED = "SELECT 1 FROM retracted WHERE seed = ? AND event_id = ?"
OF_CLIENTS = (
    "interaction WHERE sequence IN (SELECT sequence FROM interaction WHERE user IN"
    " (SELECT value FROM json_each(?1)) UNION SELECT sequence FROM interaction WHERE item IN"
    " (SELECT value FROM json_each(?1))) ORDER BY sequence"
)
CHOICES = (
    "SELECT i.user, i.sequence, i.item, i.weight, c.sequence, i.time FROM json_each(?) e"
    " CROSS JOIN interaction i INDEXED BY interaction_user ON i.user = e.value"
    " CROSS JOIN client c ON c.ref = i.item"
    " ORDER BY e.key, i.sequence"
)
BROUGHT = (
    "SELECT DISTINCT i.attribute FROM json_each(?) e CROSS JOIN integrated i"
    " INDEXED BY integrated_text ON i.ref = e.value"
)
# A part that rests on an interaction belongs to a profile version that was written at its sequence
# or later. This bounds the versions, unless retention dropped some.
PARTS_OF = (
    "SELECT i.router, i.version, v.round, i.attribute, i.ref, i.profile_version, i.sequence FROM"
    " json_each(?1) e CROSS JOIN integrated i ON i.ref = e.value AND i.profile_version >="
    " iif(e.value IN (SELECT value FROM json_each(?2)) OR (SELECT value FROM progress WHERE name ="
    f" '{OLDEST_KEPT}') > 0, 0,"
    " (SELECT min(version) FROM profile_version WHERE ref = e.value"
    " AND sequence >= ?3)) CROSS JOIN router_version v ON v.router = i.router AND v.version ="
    " i.version WHERE i.ref IN (SELECT value FROM json_each(?2))"
    " OR i.sequence IN (SELECT value FROM json_each(?4))"
)
PARTS = (
    "SELECT attribute, ref, sequence FROM integrated WHERE router = ? AND version = ?"
    " AND attribute IN (SELECT value FROM json_each(?)) ORDER BY sequence, ref"
)


class SqliteErasure(SqliteWiping):
    """Reads the rows that a withdrawal needs, and commits the withdrawal."""

    @reads
    def get_event_states(
        self, connection: sqlite3.Connection, event_ids: Sequence[str]
    ) -> Sequence[EventState]:
        recorded = {
            event_id: event
            for event_id in event_ids
            if (event := read_event(connection, event_id)) is not None
        }
        retracted = [
            event_id
            for event_id in event_ids
            if event_id not in recorded
            and connection.execute(RETRACTED, (derive_seed(event_id), event_id)).fetchone()
        ]
        return decide_event_states(
            event_ids, recorded, retracted, find_forgotten(connection, event_ids)
        )

    @reads
    def get_interactions_of_clients(
        self, connection: sqlite3.Connection, refs: Sequence[int]
    ) -> Sequence[InteractionRow]:
        return read_interactions_where(connection, OF_CLIENTS, to_json(sorted(set(refs))))

    @reads
    def find_orphans(self, connection: sqlite3.Connection, ref: int) -> Sequence[int]:
        return find_orphans(connection, ref)

    @reads
    def get_user_choices(self, connection: sqlite3.Connection, users: Sequence[int]) -> UserChoices:
        return UserChoices.from_rows(
            connection.execute(CHOICES, (to_json(sorted(set(users))),)).fetchall()
        )

    @reads
    def get_learned_weights(
        self, connection: sqlite3.Connection, sequences: Sequence[int]
    ) -> LearnedWeights:
        return read_weights(connection, sequences)

    async def find_citing_texts(self, searches: Sequence[CitationSearch]) -> Sequence[StoredText]:
        matcher = await asyncio.to_thread(CitationMatcher, searches)
        ordered = sorted(searches, key=lambda search: search.ref)
        found = [
            one
            for batch in split_into_batches(ordered, SEARCHES_A_READ)
            for one in await self._database.read(
                partial(search_texts, searches=batch, matcher=matcher)
            )
        ]
        by_version = {(one.text.profile.ref, one.text.profile.version): one for one in found}
        return [by_version[key] for key in sorted(by_version)]

    @reads
    def find_names_used_by_others(
        self, connection: sqlite3.Connection, ref: int, names: frozenset[str]
    ) -> frozenset[str]:
        return frozenset(name for name in names if is_used_by_another(connection, ref, name))

    async def find_clients_naming(
        self, words: frozenset[str], replaced_by: int | None = None
    ) -> frozenset[int]:
        encoded = encode_words(words)
        if replaced_by is not None:
            return await self._database.read(
                partial(find_replaced_naming, words=encoded, by=replaced_by)
            )
        found: set[int] = set()
        row = 0
        while True:
            last, refs = await self._database.read(
                partial(find_clients_naming, words=encoded, after=row)
            )
            if last == row:
                return frozenset(found)
            found |= refs
            row = last

    @reads
    def get_brought_attributes(
        self, connection: sqlite3.Connection, refs: Sequence[int]
    ) -> frozenset[str]:
        return frozenset(name for (name,) in connection.execute(BROUGHT, (to_json(list(refs)),)))

    @reads
    def find_affected_messages(
        self,
        connection: sqlite3.Connection,
        refs: Sequence[int],
        sequences: frozenset[int],
        erased_refs: Collection[int],
        words: frozenset[str],
        titles: frozenset[str],
        names: frozenset[str],
        origins: Mapping[int, frozenset[int]],
        limit: int,
    ) -> Sequence[AffectedMessage]:
        first = min(sequences, default=0)  # PARTS_OF begins there in an index
        erased = to_json(sorted(erased_refs))
        asked = to_json(sorted(set(refs))), erased, first, to_json(sorted(sequences))
        rows = connection.execute(PARTS_OF, asked).fetchall()
        lost_parts = group_pairs(((row[0], row[1]), IntegratedAttribute(*row[3:])) for row in rows)
        rounds = {(router, version): number for router, version, number, *_ in rows}
        lost = {part.attribute for parts in lost_parts.values() for part in parts}
        found = (
            _find_messages_naming(
                connection, words, titles, names, lost, find_indebted_routers(rounds, origins)
            )
            if words or titles or names or lost
            else ()
        )
        return [
            AffectedMessage(
                message,
                lost_parts.get(key, ()),
                _find_holders(connection, message, lost_parts.get(key, ()), names, limit),
            )
            for key, message in read_brief_versions(
                connection, choose_affected_keys(rounds, found)
            ).items()
        ]

    @reads
    def get_merges_of_messages(
        self, connection: sqlite3.Connection, messages: Sequence[tuple[int, int]]
    ) -> Sequence[MessageMerge]:
        return [
            MessageMerge(*row) for row in connection.execute(READERS, (to_json(list(messages)),))
        ]

    async def prepare_withdrawal(self, *, search: bool) -> AsyncIterator[None]:
        """Do nothing: SQLite compiles each statement in microseconds."""
        pieces: tuple[None, ...] = ()
        for piece in pieces:  # a function without `yield` would be no iterator
            yield piece

    async def withdraw(
        self, lease: Lease, withdrawal: Withdrawal, barrier: StagedCheckpoint
    ) -> WithdrawalResult:
        rewritten, texts = (
            await pack_bodies(withdrawal.rewritten),
            await pack_bodies(withdrawal.texts),
        )
        done = await self._database.write(
            lambda connection: WithdrawalCommit(
                connection, self._directory, withdrawal, barrier, rewritten, texts
            ).run(),
            lease,
        )
        self.sweep_after_commit()
        return done

    async def get_last_withdrawal(self) -> int:
        return await self._database.read(
            lambda connection: read_progress(connection, LAST_WITHDRAWAL), 1
        )


def _find_messages_naming(
    connection: sqlite3.Connection,
    words: frozenset[str],
    titles: frozenset[str],
    names: frozenset[str],
    lost: Collection[str],
    indebted: Collection[int],
) -> Iterator[tuple[int, int, int, bool]]:
    """Yield messages for `choose_affected_keys`, in one pass.

    Args:
        words: Find messages that may hold one of these words, in upper or lower case.
        titles: Find messages whose text may hold one of these titles, in upper or lower case.
        names: Find messages that bring one of these attributes, or whose router stands for one.
        lost: Find messages of the indebted routers that stand for one of these attributes.
        indebted: Result of `find_indebted_routers`.

    Yields:
        (router, version, round, whether the message names something searched for).
    """
    words, titles = (frozenset(map(str.casefold, some)) for some in (words, titles))
    for router, version, number, text, name, attributes, standing in connection.execute(
        "SELECT router, version, round, text, name, attributes, standing"
        " FROM router_version ORDER BY router, version"
    ):
        is_indebted = router in indebted
        stands_for = dict(orjson.loads(standing)) if is_indebted or words or names else {}
        names_it = not text or (bool(titles) and _holds(text, titles))
        if not names_it and (words or names):
            held = {*orjson.loads(attributes), *stands_for}
            names_it = not names.isdisjoint(held) or _holds("\n".join((text, name, *held)), words)
        if names_it or (is_indebted and not stands_for.keys().isdisjoint(lost)):
            yield router, version, number, names_it


def _holds(text: str, words: frozenset[str]) -> bool:
    return any(map(text.casefold().__contains__, words))


def _find_holders(
    connection: sqlite3.Connection,
    message: RouterVersion,
    lost_parts: Sequence[IntegratedAttribute],
    names: frozenset[str],
    limit: int,
) -> dict[str, frozenset[tuple[int, int]]]:
    """Find the remaining senders (ref, sequence) of some attributes of a message.

    The attributes are those that lose a part, and `names`. At most `limit` senders of each are
    returned.
    """
    lost = {(part.attribute, part.ref, part.sequence) for part in lost_parts}
    incomplete = set(choose_counted_attributes(message, lost_parts, names))
    remaining: dict[str, set[tuple[int, int]]] = {attribute: set() for attribute in incomplete}
    parameters = message.router, message.version, to_json(sorted(incomplete))
    for attribute, ref, sequence in connection.execute(PARTS, parameters) if incomplete else ():
        if attribute in incomplete and (attribute, ref, sequence) not in lost:
            remaining[attribute].add((ref, sequence))
            if len(remaining[attribute]) >= limit:
                incomplete.discard(attribute)
                if not incomplete:
                    break
    return {attribute: frozenset(senders) for attribute, senders in remaining.items()}
