"""Forgotten event ids, as keyed hashes."""

import sqlite3
from collections.abc import Sequence

from propagation.adapters.shared.erasure import hash_of, new_key
from propagation.adapters.sqlite.connection import one

KEY = "forgetting_key"


def key_of(connection: sqlite3.Connection) -> bytes | None:
    """Return the key; None if nothing was ever forgotten."""
    key: bytes | None = one(connection, "SELECT value FROM meta WHERE name = ?", KEY)
    return key


def forget_events(connection: sqlite3.Connection, event_ids: Sequence[str]) -> None:
    """Store the hashes of event ids."""
    key = key_of(connection)
    if key is None:
        key = new_key()
        connection.execute("INSERT INTO meta VALUES (?, ?)", (KEY, key))
    connection.executemany(
        "INSERT OR IGNORE INTO forgotten VALUES (?)",
        [(hash_of(key, event_id),) for event_id in event_ids],
    )


def forgotten_among(connection: sqlite3.Connection, event_ids: Sequence[str]) -> set[str]:
    """Return those of the event ids that were forgotten."""
    key = key_of(connection)
    if key is None:
        return set()
    return {
        event_id
        for event_id in event_ids
        if one(connection, "SELECT 1 FROM forgotten WHERE event = ?", hash_of(key, event_id))
        is not None
    }
