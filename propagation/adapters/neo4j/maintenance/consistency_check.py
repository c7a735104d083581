"""What may be wrong with a database, found by looking; every finding is a sentence."""

from collections.abc import Iterator, Sequence
from typing import Any

from propagation.adapters.neo4j.connection.database import Neo4jDatabase

FINDINGS_A_QUESTION = 5
# Each row found is one thing wrong; the text is filled with the row's columns.
QUESTIONS = {
    "maintenance/check/double_sequences": "sequence {} is given to an interaction and to another log entry",
    "maintenance/check/unconnected_interactions": "interaction {} has lost user {} or item {}",
    "maintenance/check/block_gaps": "learned block {} does not start where the one before it ends, at {}",
    "maintenance/check/wrong_block_sizes": "learned block {} holds {} interactions, the log has {} there",
    "maintenance/check/text_gaps": "client {}: version {} of its profile does not follow the one before it",
    "maintenance/check/missing_current_texts": "client {}: version {} of its profile, which is the current one, is not there",
    "maintenance/check/ownerless_texts": "a profile belongs to client {}, which the graph does not have (version {})",
    "maintenance/check/double_edges": "router {} has two standing edges to client {}",
    "maintenance/check/unpublished_watermarks": "client {} has merged through round {}, which was never published",
}


async def findings(database: Neo4jDatabase) -> list[str]:
    """What is wrong, at most five of a kind; empty when the database is sound."""
    found: list[str] = []
    for name, text in QUESTIONS.items():
        found.extend(
            text.format(*row) for row in await database.rows(name, limit=FINDINGS_A_QUESTION)
        )
    row = await database.row("maintenance/check/log_counts")
    found.extend(_progress(row or [0, 0, None, 0]))
    first = await database.value("maintenance/check/first_trust_gap")
    if first is not None:
        found.append(
            f"increments of trust are missing from sequence {first} on, which no checkpoint covers; run `rebuild`"
        )
    return found


def _progress(row: Sequence[Any]) -> Iterator[str]:
    entries, recorded, learned, reasoned = row
    learned = learned or 0
    if entries != recorded:
        yield f"the log ends at sequence {recorded} but holds {entries} entries"
    if learned > recorded:
        yield f"learn has passed the log: it is at sequence {learned}, the log ends at {recorded}"
    if reasoned > learned:
        yield f"reason has passed learn: it is at sequence {reasoned}, learn at {learned}"
