"""Event ids that were forgotten: only hashes of them are kept, under a key that is drawn with the
first and never leaves the database. The same hashes in every graph store."""

import secrets
from hashlib import blake2b

KEY_BYTES, HASH_BYTES = 32, 16


def new_key() -> bytes:
    return secrets.token_bytes(KEY_BYTES)


def hash_of(key: bytes, event_id: str) -> bytes:
    return blake2b(event_id.encode(), key=key, digest_size=HASH_BYTES).digest()
