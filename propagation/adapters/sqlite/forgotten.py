"""Event ids that were forgotten: only hashes of them are kept, under a key that is drawn with the first and never leaves the
database."""

import secrets
import sqlite3
from collections.abc import Sequence
from hashlib import blake2b

from propagation.adapters.sqlite.rows import one

KEY = "forgetting_key"
KEY_BYTES, HASH_BYTES = 32, 16


def hash_of(key: bytes, event_id: str) -> bytes:
    return blake2b(event_id.encode(), key=key, digest_size=HASH_BYTES).digest()


def key_of(connection: sqlite3.Connection) -> bytes | None:
    """None where nothing was ever forgotten."""
    key: bytes | None = one(connection, "SELECT value FROM meta WHERE name = ?", KEY)
    return key


def forget_events(connection: sqlite3.Connection, event_ids: Sequence[str]) -> None:
    key = key_of(connection)
    if key is None:
        key = secrets.token_bytes(KEY_BYTES)
        connection.execute("INSERT INTO meta VALUES (?, ?)", (KEY, key))
    connection.executemany("INSERT OR IGNORE INTO forgotten VALUES (?)", [(hash_of(key, event_id),) for event_id in event_ids])


def forgotten_among(connection: sqlite3.Connection, event_ids: Sequence[str]) -> set[str]:
    """Those that were forgotten."""
    key = key_of(connection)
    if key is None:
        return set()
    return {event_id for event_id in event_ids
            if one(connection, "SELECT 1 FROM forgotten WHERE event = ?", hash_of(key, event_id)) is not None}
