"""Searches a database for inconsistencies."""

from collections.abc import AsyncIterator

from propagation.adapters.neo4j.connection import (
    Neo4jDatabase,
    Transaction,
    join_search_words,
)
from propagation.adapters.neo4j.maintenance.removed_draws import (
    find_blocks_naming,
    read_removed_items,
)
from propagation.adapters.shared.learned_blocks import REMOVED_DRAWS
from propagation.errors import REBUILD
from propagation.model import derive_seed

FINDINGS_A_QUESTION = 5
CLIENTS_A_READ, EVENTS_A_READ = 2_000, 20_000

QUERIES = {
    "maintenance/check/log/double_sequences": (
        "sequence {} belongs to an interaction and to another log entry"
    ),
    "maintenance/check/log/unconnected_interactions": (
        "interaction {} names user {}, item {} and negative {}, but its relationships differ"
    ),
    "maintenance/check/clients/missing_contents": (
        "entry {} of the log wrote a content of client {}, which is missing"
    ),
    "maintenance/check/clients/unnamed_contents": (
        "entry {} of the log does not name client {}, whose content it wrote"
    ),
    "maintenance/check/clients/wrong_marks": (
        "client {} was named by an upsert, but is marked as one that only events named"
    ),
    "maintenance/check/log/unpublished_entries": (
        "what sequence {} of the log published is missing: {} {}"
    ),
    "maintenance/check/log/unconnected_gradients": (
        "a gradient of interaction {} is not connected to it"
    ),
    "maintenance/check/numbers/block_gaps": (
        f"learned block {{}} does not start where the one before it ends, at {{}}{REBUILD}"
    ),
    "maintenance/check/numbers/wrong_block_sizes": (
        f"learned block {{}} holds {{}} interactions, the log has {{}} there{REBUILD}"
    ),
    "maintenance/check/numbers/lost_last_blocks": (
        f"a checkpoint covers sequence {{}}, but the learned blocks end at {{}}{REBUILD}"
    ),
    "maintenance/check/numbers/first_trust_gap": (
        f"increments of trust are missing from sequence {{}} on{REBUILD}"
    ),
    "maintenance/check/texts/text_gaps": (
        "client {}: version {} of its profile does not follow the one before it"
    ),
    "maintenance/check/texts/missing_current_texts": (
        "client {}: version {} of its profile, the current one, is missing"
    ),
    "maintenance/check/texts/ownerless_texts": (
        "a profile belongs to client {}, which does not exist (version {})"
    ),
    "maintenance/check/texts/ownerless_lines": (
        "lines or filter rules of client {} are not connected to it"
    ),
    "maintenance/check/routing/double_edges": "router {} has two current edges to client {}",
    "maintenance/check/routing/missing_edges": "of {} edges that round {} opened, {} are stored",
    "maintenance/check/routing/missing_messages": "of {} messages of round {}, {} are stored",
    "maintenance/check/routing/incomplete_messages": (
        "message {} of router {} has lost a property, such as its text"
    ),
    "maintenance/check/routing/unsent_messages": (
        "message {} of router {} is not connected to its router"
    ),
    "maintenance/check/routing/unpublished_watermarks": (
        "client {} has merged through round {}, which was never published"
    ),
}
"""Each row is one inconsistency; its columns fill the query's text."""
LOG_FAULTS = (
    "the log lacks {} of its entries",
    "the log holds {} entries too many",
    f"learn has passed the log: it is at sequence {{}}{REBUILD}",
    f"reason has passed learn: it is at sequence {{}}{REBUILD}",
    "{} versions of profiles that were written are missing",
    "{} merges are missing",
)
"""A text for each column of cypher/maintenance/check/log/log_faults."""


async def find_inconsistencies(database: Neo4jDatabase) -> list[str]:
    """Describe inconsistencies, at most five of each kind.

    Returns:
        The descriptions; empty if the database is sound.
    """
    found = [
        text.format(*row)
        for name, text in QUERIES.items()
        for row in await database.rows(name, limit=FINDINGS_A_QUESTION)
    ]
    found.extend([finding async for finding in _find_wrong_words(database)])
    found.extend([finding async for finding in _find_wrong_seeds(database)])
    found.extend([finding async for finding in _find_removed_draws(database)])
    counts = await database.write(_count_log)
    return found + [
        text.format(count)
        for text, count in zip(LOG_FAULTS, counts, strict=True)
        if count is not None
    ]


async def _find_wrong_words(database: Neo4jDatabase) -> AsyncIterator[str]:
    """Yield clients whose search words are not those of their texts."""
    after, wrong = -1, 0
    while wrong < FINDINGS_A_QUESTION and (
        rows := await database.table(
            "record/search/clients_by_ref", after=after, limit=CLIENTS_A_READ
        )
    ):
        after = rows[-1][0]
        for ref, _, *row, words in rows:
            stored, expected = (
                set((words or "").split()),
                set((join_search_words(row) or "").split()),
            )
            if stored != expected and wrong < FINDINGS_A_QUESTION:
                wrong += 1
                yield (
                    f"client {ref} lacks {len(expected - stored)} search words of its texts, and"
                    f" has {len(stored - expected)} others"
                )


async def _find_wrong_seeds(database: Neo4jDatabase) -> AsyncIterator[str]:
    """Yield interactions whose seed is not that of their event's id."""
    after, wrong = -1, 0
    while wrong < FINDINGS_A_QUESTION and (
        rows := await database.table(
            "maintenance/check/log/event_seeds", after=after, limit=EVENTS_A_READ
        )
    ):
        after = rows[-1][0]
        for sequence, event_id, seed in rows:
            if seed != derive_seed(event_id) and wrong < FINDINGS_A_QUESTION:
                wrong += 1
                yield f"the seed of interaction {sequence} is not that of its event id"


async def _find_removed_draws(database: Neo4jDatabase) -> AsyncIterator[str]:
    """Yield blocks that name removed items, unless a wipe is due."""
    if await database.value("forget/wiping/wiping_pending"):
        return
    removed = await read_removed_items(database)
    found: list[str] = []
    async for named in find_blocks_naming(database, removed):
        found.append(REMOVED_DRAWS.format(*named))
        if len(found) == FINDINGS_A_QUESTION:
            break
    if found and not await database.value("forget/wiping/wiping_pending"):
        for finding in found:
            yield finding


async def _count_log(transaction: Transaction) -> list[int | None]:
    """Count faults of the log while nothing is recorded, written or withdrawn.

    Returns:
        The number for each text of LOG_FAULTS; None if there is no such fault.
    """
    await transaction.execute("record/log/wait_for_log")
    await transaction.execute("reason/texts/lock_commit_numbers")
    return await transaction.read_single_row("maintenance/check/log/log_faults")
