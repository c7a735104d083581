"""What may be wrong with a database, found by looking; every finding is a sentence."""

from collections.abc import Iterator, Sequence
from typing import Any

from propagation.adapters.neo4j.connection.database import Neo4jDatabase

FINDINGS_A_QUESTION = 5
# Each row found is one thing wrong; the text is filled with the row's columns.
QUESTIONS = {
    "check/given_twice": "sequence {} is given to an interaction and to another log entry",
    "check/unconnected": "interaction {} has lost user {} or item {}",
    "check/block_gaps": "learned block {} does not start where the one before it ends, at {}",
    "check/block_sizes": "learned block {} holds {} interactions, the log has {} there",
    "check/texts": "client {}: version {} of its profile does not follow the one before it",
    "check/current_texts": "client {}: version {} of its profile, which is the current one, is not there",
    "check/owners": "a profile belongs to client {}, which the graph does not have (version {})",
    "check/edges": "router {} has two standing edges to client {}",
    "check/watermarks": "client {} has merged through round {}, which was never published",
}


async def findings(database: Neo4jDatabase) -> list[str]:
    """What is wrong, at most five of a kind; empty when the database is sound."""
    found: list[str] = []
    for name, text in QUESTIONS.items():
        found.extend(
            text.format(*row) for row in await database.rows(name, limit=FINDINGS_A_QUESTION)
        )
    row = await database.row("check/log")
    found.extend(_progress(row or [0, 0, None, 0]))
    first = await database.value("check/trust_gaps")
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
