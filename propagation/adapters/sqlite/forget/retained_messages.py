"""Messages that retention may drop: their state and their citations."""

import sqlite3
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from propagation.adapters.shared.text_bodies import list_cited_messages
from propagation.adapters.sqlite.connection import to_json
from propagation.adapters.sqlite.rounds.messages import find_last_round
from propagation.graph_rules import MessageState, may_drop_text

Row = tuple[int, ...]
MESSAGES_A_READ = 500
FIRST = (-1 << 63, 0)
# CHANGED and STOOD ask for the texts that were current at a sequence, among the texts with a number
# up to the given one. If a later text cites a message, either such a text cites it, or the client
# merged it since.
CHANGED = (
    "SELECT ref FROM profile_version INDEXED BY profile_version_sequence"
    " WHERE sequence > ?1 AND sequence <= ?2"
    " UNION SELECT ref FROM profile_version NOT INDEXED WHERE rowid > ?3 AND sequence <= ?1"
)
STOOD = (
    "SELECT v.body FROM json_each(?1) e CROSS JOIN profile_version v ON v.ref = e.value AND"
    " v.version = (SELECT version FROM profile_version WHERE ref = e.value AND sequence <= ?2"
    " AND rowid <= ?3 ORDER BY version DESC LIMIT 1)"
)
MERGED_IN = (
    "SELECT DISTINCT m.router, m.router_version FROM json_each(?1) e CROSS JOIN profile_version v"
    " ON v.ref = e.value AND v.sequence > ?2 AND v.sequence <= ?3 CROSS JOIN merged m"
    " INDEXED BY merged_ref ON m.ref = v.ref AND m.profile_version = v.version"
)
REPLACED = (
    "SELECT n.router, (SELECT max(version) FROM router_version WHERE router = n.router AND"
    " version < n.version) AS replaced FROM router_version n INDEXED BY router_version_round"
    " WHERE n.round > ? AND n.round <= ? AND replaced IS NOT NULL"
)
TEXT_STATES = (
    "SELECT v.ref, v.version,"
    " (SELECT n.sequence FROM profile_version n WHERE n.ref = v.ref AND n.version > v.version"
    " ORDER BY n.version LIMIT 1),"
    " EXISTS (SELECT 1 FROM integrated i WHERE i.ref = v.ref AND i.profile_version = v.version)"
    " FROM json_each(?) e CROSS JOIN profile_version v"
    " ON v.ref = e.value->>0 AND v.version = e.value->>1"
)
# A message's row is deleted first, so that no client merges a half-deleted message. The parts and
# merges of a message without a row are found in their own tables.
KEYS = (
    "SELECT * FROM (SELECT * FROM (SELECT router, version FROM router_version WHERE (router, "
    "version) > (?1, ?2)"
    " ORDER BY 1, 2 LIMIT 1) UNION ALL SELECT * FROM (SELECT router, version FROM integrated "
    "WHERE (router, version) > (?1, ?2)"
    " ORDER BY 1, 2 LIMIT 1) UNION ALL SELECT * FROM (SELECT router, router_version FROM merged"
    " WHERE (router, router_version) > (?1, ?2) ORDER BY 1, 2 LIMIT 1)) ORDER BY 1, 2 LIMIT 1"
)
STANDS = "EXISTS (SELECT 1 FROM router_version WHERE router = ?1 AND version = ?2)"
MESSAGE_STATE = (
    f"SELECT {STANDS},"
    " coalesce((SELECT sequence FROM merged WHERE router = ?1 AND router_version = ?2"
    " AND sequence > ?3 LIMIT 1),"
    " (SELECT max(sequence) FROM merged WHERE router = ?1 AND router_version = ?2)),"
    " (SELECT r.sequence FROM router_version n CROSS JOIN round r ON r.number = n.round"
    " WHERE n.router = ?1 AND n.version > ?2 ORDER BY n.version LIMIT 1)"
)
PARTS = (
    "SELECT rowid, ref, profile_version FROM integrated WHERE router = ?1 AND version = ?2 "
    f"AND NOT {STANDS} LIMIT ?3"
)


@dataclass
class CitationCounts:
    """Counts of the clients whose texts cite each message.

    Attributes:
        at: The counted texts were current at this sequence; -1 before the first run, without texts.
        committed: Number of the last text that was committed before the count.
        withdrawal: Sequence of the last withdrawal before the count; a withdrawal may change texts
            in place.
        clients: How many clients cite each message (router, version).
    """

    at: int = -1
    committed: int = 0
    withdrawal: int = 0
    clients: Counter[Row] = field(default_factory=Counter)


def count_again(
    connection: sqlite3.Connection,
    refs: Sequence[Row],
    last: CitationCounts,
    now: CitationCounts,
) -> set[Row]:
    """Replace some clients' citations of the last run by the present ones.

    Args:
        refs: The clients, as rows (ref,).
        last: The counts of the last run.
        now: The counts of this run, which are changed.

    Returns:
        The messages (router, version) that the clients cited at the last run or merged since.
    """
    asked = to_json([ref for (ref,) in refs])
    cited = _count_citations(connection, asked, last)
    now.clients.update(_count_citations(connection, asked, now))
    now.clients.subtract(cited)
    return cited.keys() | set(connection.execute(MERGED_IN, (asked, last.at, now.at)))


def find_replaced_messages(
    connection: sqlite3.Connection, after: int, before: int
) -> Sequence[Row]:
    """Return messages whose router sent its next message in some rounds.

    The rounds are those that were published after the sequence `after`, and up to `before`.
    """
    rounds = (find_last_round(connection, after), find_last_round(connection, before))
    return connection.execute(REPLACED, rounds).fetchall()


def read_message_keys(connection: sqlite3.Connection, after: Row) -> list[Row]:
    """Read the next (router, version), also of deleted messages with leftovers."""
    found, key = list[Row](), after
    while (
        len(found) < MESSAGES_A_READ
        and (row := connection.execute(KEYS, key).fetchone()) is not None
    ):
        found.append(key := row)
    return found


def _count_citations(
    connection: sqlite3.Connection, asked: str, texts: CitationCounts
) -> Counter[Row]:
    """Count how many of the clients in `asked` (JSON) cite each message."""
    bodies = connection.execute(STOOD, (asked, texts.at, texts.committed))
    return Counter(key for (body,) in bodies for key in set(list_cited_messages(body)))


def read_message_states(
    connection: sqlite3.Connection, keys: Iterable[Row], before: int
) -> list[tuple[bool, MessageState]]:
    """Return the states of messages that no text cites.

    Returns:
        For each message, whether its row still exists, and its state. If it was merged after
        `before`, `merged_at` may be any such merge.
    """
    rows = (connection.execute(MESSAGE_STATE, (*key, before)).fetchone() for key in keys)
    return [
        (bool(stands), MessageState(is_cited=False, merged_at=merged_at, replaced_at=replaced_at))
        for stands, merged_at, replaced_at in rows
    ]


def find_droppable_texts(
    connection: sqlite3.Connection, texts: Sequence[Sequence[int]], before: int
) -> list[Row]:
    """Return the texts (ref, version) that may be dropped."""
    return [
        (ref, version)
        for ref, version, replaced_at, is_held in connection.execute(TEXT_STATES, (to_json(texts),))
        if may_drop_text(replaced_at, bool(is_held), before)
    ]


def drop_texts(connection: sqlite3.Connection, texts: Sequence[Sequence[int]], before: int) -> int:
    """Drop the texts (ref, version) that may be dropped.

    Returns:
        How many were dropped.
    """
    droppable = find_droppable_texts(connection, texts, before)
    return connection.execute(
        "DELETE FROM profile_version WHERE rowid IN (SELECT v.rowid FROM json_each(?) e CROSS JOIN "
        "profile_version v ON v.ref = e.value->>0 AND v.version = e.value->>1)",
        (to_json(droppable),),
    ).rowcount
