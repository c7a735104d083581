"""Reasoned interactions as rows of a commit.

The drafting process sends them in this form.
"""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from propagation.adapters.shared.reason_rows import list_authors
from propagation.adapters.sqlite.connection import put_json, spread_fields, to_json
from propagation.adapters.sqlite.reason.texts import TextRows, build_text_rows, put_texts
from propagation.graph_rules import find_dead_letters
from propagation.model import (
    ClientText,
    MessageMerge,
    ReasonedInteraction,
    ReasonedSummary,
)

MERGED = "ref, profile_version, router, router_version, outcome"
GRADIENT = "sequence, module, owner, writer, reward, text, attributes, epoch"
MERGES_THROUGH = (
    "INSERT INTO progress VALUES ('merged', json_array_length(?1)) ON CONFLICT (name) DO UPDATE"
    " SET value = value + excluded.value"
)
# `propagation doctor` compares this number with the rows, until some are pruned or withdrawn.
GRADIENTS_THROUGH = (
    "INSERT OR REPLACE INTO progress SELECT 'gradient', rowid FROM gradient ORDER BY rowid DESC"
    " LIMIT 1"
)
# The attempts of earlier replays count, too. (SQLite needs the condition before ON CONFLICT.)
PUT_DEAD_LETTERS = (
    "INSERT INTO dead_letter (sequence, reason, attempts, asked, answered, failed_at) SELECT"
    f" {spread_fields(5)}, ? FROM json_each(?) WHERE true ON CONFLICT (sequence) DO UPDATE SET"
    " reason = excluded.reason, attempts = attempts + excluded.attempts, asked = excluded.asked,"
    " answered = excluded.answered, failed_at = excluded.failed_at, queued = 0"
)
# The merges are numbered in their order; the last gets the number that MERGES_THROUGH stored.
PUT_MERGED = (
    f"INSERT INTO merged (number, {MERGED}, sequence) SELECT (SELECT value FROM progress WHERE"
    f" name = 'merged') - json_array_length(?1) + key + 1, {spread_fields(6)} FROM json_each(?1)"
)


@dataclass(frozen=True)
class PackedReasoned:
    """Rows of one commit, as JSON.

    Args:
        recovered: Sequences of interactions that are no longer dead letters.
    """

    summaries: Sequence[ReasonedSummary]
    texts: TextRows
    merged: str
    gradients: str
    reasoned: str
    recovered: str
    dead_letters: str


def list_texts(reasoned: Sequence[ReasonedInteraction]) -> list[ClientText]:
    """Return all texts of these interactions, in order."""
    return [text for result in reasoned for text in result.texts]


def pack_reasoned(
    reasoned: Sequence[ReasonedInteraction],
    bodies: Sequence[bytes],
    summaries: Sequence[ReasonedSummary],
) -> PackedReasoned:
    """Pack reasoned interactions.

    Args:
        bodies: Packed bodies of `list_texts(reasoned)`, in order.
        summaries: Summaries of the interactions, in order.

    Raises:
        InvalidInput: A text holds U+0000.
    """
    failed, recovered = find_dead_letters(reasoned)
    return PackedReasoned(
        summaries=summaries,
        texts=build_text_rows(
            [(text, result.written_at) for result in reasoned for text in result.texts], bodies
        ),
        merged=build_merged_rows(
            [(merge, result.written_at) for result in reasoned for merge in result.merges]
        ),
        gradients=to_json(
            [
                (g.sequence, g.module, g.owner, g.writer, g.reward, g.text, g.attributes, g.epoch)
                for result in reasoned
                for g in result.gradients
            ]
        ),
        reasoned=to_json(
            [
                (result.sequence, result.user, result.reward, result.late, *list_authors(result))
                for result in reasoned
            ]
        ),
        recovered=to_json([result.sequence for result in recovered]),
        dead_letters=to_json(
            [
                (result.sequence, result.failure, result.attempts, *result.exchange)
                for result in failed
            ]
        ),
    )


def build_merged_rows(merged: Sequence[tuple[MessageMerge, int]]) -> str:
    """Return the rows of merges (merge, sequence) as JSON, in order."""
    return to_json(
        [
            (
                merge.ref,
                merge.profile_version,
                merge.router,
                merge.router_version,
                merge.outcome,
                sequence,
            )
            for merge, sequence in merged
        ]
    )


def put_merged(connection: sqlite3.Connection, merged: str) -> None:
    """Insert the rows of `build_merged_rows`, and number them in order."""
    connection.execute(MERGES_THROUGH, (merged,))
    connection.execute(PUT_MERGED, (merged,))


def put_packed(connection: sqlite3.Connection, reasoned: PackedReasoned, at: int) -> None:
    """Insert the rows of reasoned interactions.

    Args:
        at: Commit time in milliseconds since 1970.

    Raises:
        VersionClash: A text does not follow the stored version.
    """
    put_texts(connection, reasoned.texts, at)
    put_merged(connection, reasoned.merged)
    put_json(connection, f"gradient ({GRADIENT})", 8, reasoned.gradients)
    connection.execute(GRADIENTS_THROUGH)
    put_json(connection, "reasoned", 6, reasoned.reasoned, "INSERT OR REPLACE")
    connection.execute(
        "DELETE FROM dead_letter WHERE sequence IN (SELECT value FROM json_each(?))",
        (reasoned.recovered,),
    )
    connection.execute(PUT_DEAD_LETTERS, (at, reasoned.dead_letters))
