"""Reasoned interactions as rows of their commit, as the drafting process sends them."""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from propagation.adapters.sqlite.connection.json_rows import Rows, dumped, put_rows, rows_of
from propagation.adapters.sqlite.reason.texts import (
    TextRows,
    gradient_rows,
    merged_rows,
    put_gradients,
    put_merged,
    put_texts,
    text_rows,
)
from propagation.model import ClientText, ReasonedInteraction, ReasonedSummary, summarize_reasoned


@dataclass(frozen=True)
class PackedReasoned:
    """Rows of one commit.

    Args:
        replayed: Sequences of dead letters that were tried again, as JSON.
    """

    finished: Sequence[ReasonedSummary]
    texts: TextRows
    merged: Rows
    gradients: Rows
    reasoned: Rows
    replayed: str
    dead_letters: Rows


def texts_of(reasoned: Sequence[ReasonedInteraction]) -> list[ClientText]:
    """Return every written version, in order."""
    return [text for result in reasoned for text in result.texts]


def packed(reasoned: Sequence[ReasonedInteraction], bodies: Sequence[bytes]) -> PackedReasoned:
    """Pack reasoned interactions.

    Args:
        bodies: Of `texts_of`.

    Raises:
        InvalidInput: A text holds U+0000.
    """
    return PackedReasoned(
        finished=[summarize_reasoned(result) for result in reasoned],
        texts=text_rows(
            [(text, result.written_at) for result in reasoned for text in result.texts], bodies
        ),
        merged=merged_rows(
            [(merge, result.written_at) for result in reasoned for merge in result.merges]
        ),
        gradients=gradient_rows(reasoned),
        reasoned=rows_of(
            [
                (result.sequence, result.user, result.reward, result.late, *_written_with(result))
                for result in reasoned
            ]
        ),
        replayed=dumped([result.sequence for result in reasoned if result.late is not None]),
        dead_letters=rows_of(
            [(result.sequence, result.failure) for result in reasoned if result.failure is not None]
        ),
    )


def put_packed(connection: sqlite3.Connection, reasoned: PackedReasoned, at: int) -> None:
    """Insert the rows.

    Raises:
        VersionClash: A text does not follow the stored version.
    """
    put_texts(connection, reasoned.texts, at)
    put_merged(connection, reasoned.merged)
    put_gradients(connection, reasoned.gradients)
    put_rows(connection, "reasoned", 6, reasoned.reasoned, "INSERT OR REPLACE")
    connection.execute(
        "DELETE FROM dead_letter WHERE sequence IN (SELECT value FROM json_each(?))",
        (reasoned.replayed,),
    )
    put_rows(connection, "dead_letter", 2, reasoned.dead_letters)


def _written_with(result: ReasonedInteraction) -> tuple[str | None, str | None]:
    """Return the prompts that wrote, as `reasoned` holds them; a dead letter wrote nothing."""
    if result.failure is not None or not result.usage:
        return None, None
    prompts = result.usage.prompts
    return dumped(prompts) if prompts else None, result.usage.stand_in or None
