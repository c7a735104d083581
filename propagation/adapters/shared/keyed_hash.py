"""Keyed hashes of forgotten event ids, equal in every graph store.

The key is drawn with the first one and never leaves the database.
"""

import secrets
from hashlib import blake2b

KEY_BYTES, HASH_BYTES = 32, 16


def new_key() -> bytes:
    """Draw a key."""
    return secrets.token_bytes(KEY_BYTES)


def hash_of(key: bytes, event_id: str) -> bytes:
    """Return the hash of an event id."""
    return blake2b(event_id.encode(), key=key, digest_size=HASH_BYTES).digest()
