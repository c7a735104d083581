"""The one commit of a retraction or an erasure."""

import sqlite3
from collections.abc import Callable, Iterable, Sequence

from propagation.adapters.sqlite.connection.client_ids import Directory
from propagation.adapters.sqlite.connection.json_rows import (
    TAKEN_BACK,
    counted,
    dumped,
    put,
    raise_progress,
    set_progress,
)
from propagation.adapters.sqlite.connection.leases import check_fence
from propagation.adapters.sqlite.forget.learned_rows import empty_rows, promote_rows
from propagation.adapters.sqlite.forget.retention import drop_texts, oldest_kept
from propagation.adapters.sqlite.forget.wiping import TO_WIPE
from propagation.adapters.sqlite.index.outbox import put_messages_out
from propagation.adapters.sqlite.learn.checkpoints import completed, covers
from propagation.adapters.sqlite.reason.texts import cited_since, put_texts, text_rows
from propagation.adapters.sqlite.record.forgotten_events import forget_events
from propagation.adapters.sqlite.record.record import append_entry
from propagation.adapters.sqlite.rounds.messages import last_round
from propagation.adapters.sqlite.rounds.rounds import SENDERS_KEPT, discard_unpublished
from propagation.graph_rules.withdrawal_order import (
    WithdrawalStep,
    lost_attributes,
    remaining_holders,
    withdrawal_steps,
)
from propagation.model import (
    ClientText,
    RouterVersion,
    StagedCheckpoint,
    Withdrawal,
    WithdrawalResult,
)
from propagation.ports import Lease, VersionClash

OF_INTERACTIONS = (("reasoned", "sequence"), ("dead_letter", "sequence"), ("gradient", "sequence"))
OF_CLIENT = (
    ("client", "ref"),
    ("client_before", "ref"),
    ("profile_version", "ref"),
    ("merged", "ref"),
    ("integrated", "ref"),
    ("edge", "ref"),
    ("edge_past", "ref"),
    ("held", "ref"),
)
OF_ROUTER = (
    ("router_version", "router"),
    ("integrated", "router"),
    ("merged", "router"),
    ("edge", "router"),
    ("edge_past", "router"),
)
IN = "IN (SELECT value FROM json_each(?))"
NAMED_GO = (
    "DELETE FROM integrated WHERE router = ? AND version = ? AND attribute IN (SELECT value FROM "
    "json_each(?))"
    " RETURNING ref, profile_version"
)
# In the order in which they were integrated; the index alone finds them.
FIRST_SENDERS = (
    "SELECT i.attribute, i.ref, i.profile_version, i.sequence FROM (SELECT min(rowid) AS row "
    "FROM integrated"
    " WHERE router = ? AND version = ? GROUP BY ref ORDER BY row LIMIT ?) f CROSS JOIN "
    "integrated i ON i.rowid = f.row"
    " ORDER BY i.rowid"
)
PARTS_GO = (
    "DELETE FROM integrated WHERE router = ? AND version = ? AND sequence IN (SELECT value FROM "
    "json_each(?))"
    " RETURNING ref, profile_version"
)


class WithdrawalCommit:
    """The statements of each step of a withdrawal; graph_rules/withdrawal_order has their order."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        directory: Directory,
        lease: Lease,
        withdrawal: Withdrawal,
        barrier: StagedCheckpoint,
        rewritten: Sequence[bytes],
        texts: Sequence[bytes],
    ) -> None:
        """Prepare a commit.

        Args:
            rewritten: Stored bodies of `withdrawal.rewritten`.
            texts: Stored bodies of `withdrawal.texts`.
        """
        self._connection = connection
        self._directory = directory
        self._lease = lease
        self._withdrawal = withdrawal
        self._barrier = barrier
        self._rewritten = rewritten
        self._texts = texts
        self._sequences: list[int] = []
        self._sequence = 0
        self._freed: list[tuple[int, int]] = []

    def run(self) -> WithdrawalResult:
        """Run every step in one transaction.

        Raises:
            LeaseLost: The lease has a newer token.
            VersionClash: A newer text rests on what goes.
        """
        steps: dict[WithdrawalStep, Callable[[], object]] = {
            WithdrawalStep.CHECK_LEASE: lambda: check_fence(self._connection, self._lease),
            WithdrawalStep.VOID_CLAIMS: lambda: self._connection.execute("DELETE FROM claim"),
            WithdrawalStep.CHECK_CITATIONS: self._check_citations,
            WithdrawalStep.DISCARD_STAGED: self._discard_staged,
            WithdrawalStep.WITHDRAW_INTERACTIONS: self._withdraw_interactions,
            WithdrawalStep.APPEND_LOG_ENTRY: self._append_log_entry,
            WithdrawalStep.CHANGE_TEXTS: self._change_texts,
            WithdrawalStep.ERASE_CLIENT: self._erase_client,
            WithdrawalStep.REDUCE_MESSAGES: self._reduce_messages,
            WithdrawalStep.CHANGE_ATTRIBUTES: self._change_attributes,
            WithdrawalStep.CHANGE_MESSAGES: self._change_messages,
            WithdrawalStep.PUBLISH_BARRIER: self._publish_barrier,
            WithdrawalStep.MARK_FOR_WIPING: self._mark_for_wiping,
            WithdrawalStep.RECORD_SEQUENCE: self._record_sequence,
        }
        for step in withdrawal_steps(self._withdrawal):
            steps[step]()
        return WithdrawalResult(sequence=self._sequence, interactions=len(self._sequences))

    def _check_citations(self) -> None:
        withdrawal = self._withdrawal
        ref = cited_since(
            self._connection,
            withdrawal.texts_read_through,
            {row.sequence for row in withdrawal.interactions},
            {(message.router, message.version) for message in withdrawal.messages},
        )
        if ref is not None:
            raise VersionClash(ref)

    def _discard_staged(self) -> None:
        discard_unpublished(self._connection, last_round(self._connection))
        self._connection.execute("DELETE FROM staged_learned")

    def _withdraw_interactions(self) -> None:
        self._sequences = _interactions_go(self._connection, self._directory, self._withdrawal)
        promote_rows(self._connection, self._withdrawal.promoted)

    def _append_log_entry(self) -> None:
        self._sequence = append_entry(
            self._connection,
            self._directory,
            self._withdrawal.kind,
            self._withdrawal.refs,
            self._barrier.sequence,
        )

    def _change_texts(self) -> None:
        _rewrite(self._connection, self._withdrawal.rewritten, self._rewritten)
        put_texts(
            self._connection,
            text_rows([(text, self._sequence) for text in self._withdrawal.texts], self._texts),
            self._directory.now(),
        )

    def _erase_client(self) -> None:
        withdrawal = self._withdrawal
        assert withdrawal.erased is not None, "this step is an erasure's"
        self._freed = _client_goes(
            self._connection,
            self._directory,
            withdrawal.erased,
            withdrawal.sent_under,
            withdrawal.words,
        )

    def _reduce_messages(self) -> None:
        self._delete_parts(PARTS_GO, self._sequences)

    def _change_attributes(self) -> None:
        self._delete_parts(NAMED_GO, lost_attributes(self._withdrawal))
        drop_texts(self._connection, self._freed, oldest_kept(self._connection))
        _attributes_change(self._connection, self._withdrawal)

    def _delete_parts(self, statement: str, values: Sequence[object]) -> None:
        for key in self._withdrawal.reduced_messages:
            self._freed += self._connection.execute(statement, (*key, dumped(values)))

    def _change_messages(self) -> None:
        withdrawal = self._withdrawal
        _messages_change(self._connection, withdrawal.messages, withdrawal.reduced_messages)
        put_messages_out(self._connection, withdrawal.messages, self._directory.now())

    def _publish_barrier(self) -> None:
        completed(self._connection, self._barrier.id)
        self._connection.execute("DELETE FROM checkpoint WHERE id < ?", (self._barrier.id,))
        covers(self._connection, self._barrier.sequence)

    def _mark_for_wiping(self) -> None:
        counted(self._connection, TO_WIPE)

    def _record_sequence(self) -> None:
        set_progress(self._connection, TAKEN_BACK, self._sequence)


def _interactions_go(
    connection: sqlite3.Connection, directory: Directory, withdrawal: Withdrawal
) -> list[int]:
    """Remove interactions and what depends on them.

    An erasure also removes what was recorded of the client meanwhile.
    """
    asked = dumped([row.sequence for row in withdrawal.interactions])
    which, parameters = f"sequence {IN}", (asked,)
    erased = withdrawal.erased
    if erased is not None:
        column = "item" if erased & 1 else "user"
        which, parameters = f"{column} = ?", (erased,)  # type: ignore[assignment]
        events = [
            row[0]
            for row in connection.execute(
                (
                    f"SELECT event_id FROM interaction WHERE {which} UNION ALL SELECT event_id "
                    "FROM "
                    f"retracted WHERE {which}"
                ),
                (erased, erased),
            )
        ]
        forget_events(connection, events)
        connection.execute(f"DELETE FROM retracted WHERE {which}", parameters)
    else:
        connection.execute(
            "INSERT INTO retracted SELECT sequence, event_id, content_hash, seed, user, item "
            "FROM interaction"
            f" WHERE {which}",
            parameters,
        )
    sequences = sorted(
        row[0]
        for row in connection.execute(f"SELECT sequence FROM interaction WHERE {which}", parameters)
    )
    connection.execute(f"DELETE FROM interaction WHERE {which}", parameters)
    learned = set(empty_rows(connection, sequences))
    put(connection, "vacant", 2, [(sequence, int(sequence in learned)) for sequence in sequences])
    for table, column in OF_INTERACTIONS:
        connection.execute(f"DELETE FROM {table} WHERE {column} {IN}", (dumped(sequences),))
    return sequences


def _client_goes(
    connection: sqlite3.Connection,
    directory: Directory,
    ref: int,
    sent_under: Sequence[int],
    words: Sequence[str],
) -> list[tuple[int, int]]:
    """Remove a client; return texts (ref, version) of others that messages no longer hold."""
    kind, name = connection.execute("SELECT kind, id FROM client WHERE ref = ?", (ref,)).fetchone()
    connection.execute(
        "DELETE FROM outbox WHERE collection = ? AND key = ?",
        ("items" if kind else "users", str(ref)),
    )
    for table, column in OF_CLIENT:
        connection.execute(f"DELETE FROM {table} WHERE {column} = ?", (ref,))
    connection.execute(
        "DELETE FROM gradient WHERE module IN ('profile', 'filter_memory') AND owner = ?", (ref,)
    )
    freed = []
    for router in sent_under:
        freed += connection.execute(
            "SELECT ref, profile_version FROM integrated WHERE router = ?", (router,)
        ).fetchall()
        for table, column in OF_ROUTER:
            connection.execute(f"DELETE FROM {table} WHERE {column} = ?", (router,))
    # what the content was is not kept where it named the client: any repeat of such an event is a
    # repeat
    connection.execute(
        "UPDATE interaction SET negative = NULL, content_hash = '' WHERE negative = ?", (ref,)
    )
    for word in words:
        connection.execute("UPDATE dead_letter SET reason = '' WHERE instr(reason, ?)", (word,))
    directory.forget(kind, name)
    raise_progress(connection, f"refs_given_{kind}", (ref >> 1) + 1)
    return freed


def _rewrite(
    connection: sqlite3.Connection, texts: Iterable[ClientText], bodies: Sequence[bytes]
) -> None:
    """Rewrite stored versions in place; one that retention dropped stays dropped."""
    connection.executemany(
        "UPDATE profile_version SET body = ? WHERE ref = ? AND version = ?",
        [
            (body, text.profile.ref, text.profile.version)
            for text, body in zip(texts, bodies, strict=True)
        ],
    )


def _messages_change(
    connection: sqlite3.Connection,
    messages: Iterable[RouterVersion],
    parts: Iterable[tuple[int, int]],
) -> None:
    connection.executemany(
        (
            "UPDATE router_version SET name = ?, text = ?, attributes = ?, standing = ? WHERE "
            "router "
            "= ? AND version = ?"
        ),
        [
            (
                message.name,
                message.text,
                dumped(message.attributes),
                dumped(message.standing),
                message.router,
                message.version,
            )
            for message in messages
        ],
    )
    for key in parts:
        senders = connection.execute(FIRST_SENDERS, (*key, SENDERS_KEPT)).fetchall()
        lone = senders[0][1] if len(senders) == 1 else None
        connection.execute(
            "UPDATE router_version SET senders = ?, lone = ? WHERE router = ? AND version = ?",
            (dumped(senders), lone, *key),
        )


def _attributes_change(connection: sqlite3.Connection, withdrawal: Withdrawal) -> None:
    put(
        connection,
        "held",
        2,
        [(ref, list(names)) for ref, names in withdrawal.client_attributes.items()],
        "INSERT OR REPLACE",
    )
    gone = lost_attributes(withdrawal)
    for name in gone:
        connection.execute(
            "UPDATE held SET names = (SELECT json_group_array(value) FROM json_each(names) WHERE "
            "value <> ?1)"
            " WHERE instr(names, ?2)",
            (name, dumped(name)),
        )
    connection.executemany(
        "UPDATE attribute SET holders = ? WHERE name = ?",
        [(holders, name) for name, holders in remaining_holders(withdrawal).items()],
    )
    connection.execute(f"DELETE FROM attribute WHERE name {IN}", (dumped(gone),))
    connection.execute(f"DELETE FROM attribute WHERE canonical {IN}", (dumped(gone),))
    connection.execute(
        f"DELETE FROM attribute WHERE canonical IS NOT NULL AND name {IN}",
        (dumped(sorted(withdrawal.unmapped)),),
    )
    for word in gone:
        connection.execute(
            "DELETE FROM outbox WHERE collection = 'attributes' AND key = ?", (dumped(word),)
        )
        connection.execute(
            "DELETE FROM gradient WHERE instr(text, ?1) OR instr(attributes, ?2)",
            (word, dumped(word)),
        )
    if gone or withdrawal.unmapped:
        connection.execute("REINDEX attribute")
