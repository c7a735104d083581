"""Forgotten event ids, stored as keyed hashes in hexadecimal digits."""

from collections.abc import Sequence

from propagation.adapters.neo4j.connection import Transaction
from propagation.adapters.shared.erasure import hash_of, new_key


async def store_forgotten_events(transaction: Transaction, event_ids: Sequence[str]) -> None:
    """Store hashes of event ids; the first call creates the key."""
    key = bytes.fromhex(
        await transaction.value("record/events/create_hash_key", key=new_key().hex())
    )
    await transaction.execute(
        "record/events/store_forgotten_hashes",
        hashes=[hash_of(key, event_id).hex() for event_id in event_ids],
    )


async def find_forgotten(
    transaction: Transaction, key: str | None, event_ids: Sequence[str]
) -> frozenset[str]:
    """Find the forgotten ones of these event ids.

    Args:
        key: The key of the hashes; None if no event was ever forgotten.
    """
    if key is None:
        return frozenset()
    hashes = {hash_of(bytes.fromhex(key), event_id).hex(): event_id for event_id in event_ids}
    return frozenset(
        hashes[row[0]]
        for row in await transaction.rows(
            "record/events/find_forgotten_hashes", hashes=list(hashes)
        )
    )
