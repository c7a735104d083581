"""The one commit of a retraction or an erasure."""

import sqlite3
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field

import orjson

from propagation.adapters.shared.learned_blocks import mark_items
from propagation.adapters.sqlite.connection import (
    LAST_WITHDRAWAL,
    Directory,
    put,
    raise_progress,
    read_next_number,
    read_progress,
    set_progress,
    to_json,
)
from propagation.adapters.sqlite.forget.learned_rows import (
    clear_draws,
    empty_rows,
    promote_rows,
)
from propagation.adapters.sqlite.forget.retained_messages import drop_texts
from propagation.adapters.sqlite.forget.retention import OLDEST_KEPT
from propagation.adapters.sqlite.forget.wiping import TO_WIPE
from propagation.adapters.sqlite.index.outbox import put_messages_out
from propagation.adapters.sqlite.learn.checkpoints import publish_barrier
from propagation.adapters.sqlite.reason.texts import (
    FOLLOWS_GAP,
    build_text_rows,
    build_texts_from,
    put_texts,
)
from propagation.adapters.sqlite.record.clients import erase_words
from propagation.adapters.sqlite.record.log import append_entry
from propagation.adapters.sqlite.record.record import store_forgotten_events
from propagation.adapters.sqlite.rounds.messages import find_last_round
from propagation.adapters.sqlite.rounds.rounds import discard_unpublished
from propagation.graph_rules import (
    KINDS_WITH_OTHERS,
    WithdrawalStep,
    check_orphans,
    check_uncited,
    find_lost_attributes,
    list_entries,
    list_held_attributes,
    names_one,
    order_withdrawal_steps,
)
from propagation.model import (
    SENDERS_KEPT,
    StagedCheckpoint,
    Withdrawal,
    WithdrawalResult,
    find_lone_sender,
    get_kind,
    index_of,
)
from propagation.ports import CACHED, COLLECTIONS, POSTPONED_ARRIVALS

OF_CLIENT = (
    "client",
    "client_before",
    "profile_version",
    "merged",
    "integrated",
    "edge",
    "edge_past",
    "held",
)
IN = "IN (SELECT value FROM json_each(?))"
# One part of each sender, in the order of integration; the index alone finds the rows.
FIRST_SENDERS = (
    "SELECT i.attribute, i.ref, i.profile_version, i.sequence FROM (SELECT min(rowid) AS row "
    "FROM integrated"
    " WHERE router = ? AND version = ? GROUP BY ref ORDER BY row LIMIT ?) f CROSS JOIN "
    "integrated i ON i.rowid = f.row"
    " ORDER BY i.rowid"
)

# A replayed dead letter has its merges at `late`, but its gradients at its own sequence. Sequences
# are made distinct first, because many dead letters may have been replayed at the same one.
GRADIENTS_OF_READERS = (
    "WITH reading AS MATERIALIZED (SELECT DISTINCT sequence, ref FROM merged INDEXED BY"
    " merged_message WHERE router = ?1 AND router_version = ?2), moment AS (SELECT DISTINCT"
    " sequence FROM reading), given(read_at, sequence) AS (SELECT sequence, sequence FROM moment"
    " UNION ALL SELECT r.late, r.sequence FROM moment CROSS JOIN reasoned r INDEXED BY"
    " reasoned_late ON r.late = moment.sequence) SELECT g.rowid, g.text, g.attributes FROM given"
    " CROSS JOIN gradient g INDEXED BY gradient_sequence ON g.sequence = given.sequence"
    " WHERE (g.module = 'router' AND g.owner = ?1) OR (g.module = 'filter_memory'"
    " AND (given.read_at, g.owner) IN reading)"
)
# The next version that keeps its sequence. Interactions may be reasoned in any order, so a later
# version may have a smaller sequence.
NEXT = (
    "(SELECT n.{} FROM profile_version n WHERE n.ref = v.ref AND n.version > v.version"
    " AND NOT n.sequence IN (SELECT value FROM json_each(?1)) ORDER BY n.version LIMIT 1)"
)
# If retention dropped the version before, the version is marked (FOLLOWS_GAP), because retention
# may still keep its new sequence.
MOVE_TEXTS = (
    f"UPDATE profile_version AS v SET sequence = coalesce({NEXT.format('sequence')}, ?2),"
    f" at = coalesce({NEXT.format('at')}, ?3),"
    f" rewritten = rewritten | iif(version = 1 OR EXISTS (SELECT 1 FROM profile_version b WHERE"
    f" b.ref = v.ref AND b.version = v.version - 1), 0, {FOLLOWS_GAP})"
    " WHERE v.sequence IN (SELECT value FROM json_each(?1))"
)
# After MOVE_TEXTS: a merge moves to the sequence of its text, or of the next text if that one was
# dropped.
MOVE_MERGES = (
    "UPDATE merged AS m SET sequence = coalesce((SELECT n.sequence FROM profile_version n WHERE"
    " n.ref = m.ref AND n.version >= m.profile_version ORDER BY n.version LIMIT 1), ?)"
    f" WHERE m.sequence {IN}"
)

# ?1: the refs of clients that are erased. ?2: kinds of entries that are few, and are read.
STRIP_LOG = (
    "UPDATE log SET refs = (SELECT json_group_array(value) FROM json_each(log.refs) WHERE value NOT"
    f" {IN.replace('?', '?1')}) WHERE sequence IN (SELECT sequence FROM client WHERE ref"
    f" {IN.replace('?', '?1')} UNION SELECT sequence FROM client_before WHERE ref"
    f" {IN.replace('?', '?1')} UNION SELECT sequence FROM log INDEXED BY log_operation"
    f" WHERE kind <> 'clients' AND refs <> '[]' AND kind {IN.replace('?', '?2')})"
)
ORPHANS = (
    "SELECT c.ref FROM (SELECT item AS ref FROM interaction WHERE {of} = ?1 UNION SELECT negative"
    " FROM interaction WHERE {of} = ?1 UNION SELECT item FROM retracted WHERE {of} = ?1) named"
    " CROSS JOIN client c ON c.ref = named.ref WHERE c.only_in_events AND c.ref <> ?1"
    " AND NOT EXISTS (SELECT 1 FROM interaction i WHERE i.item = c.ref AND i.{of} <> ?1)"
    " AND NOT EXISTS (SELECT 1 FROM interaction i WHERE i.negative = c.ref AND i.{of} <> ?1)"
    " AND NOT EXISTS (SELECT 1 FROM retracted r WHERE r.item = c.ref AND r.{of} <> ?1)"
    " ORDER BY c.ref"
)


def find_orphans(connection: sqlite3.Connection, ref: int) -> list[int]:
    """Find the items that exist only because of a client's events."""
    rows = connection.execute(ORPHANS.format(of=get_kind(ref).name.lower()), (ref,))
    return [orphan for (orphan,) in rows]


@dataclass
class WithdrawalCommit:
    """The statements of each step of a withdrawal.

    graph_rules/withdrawal_order has the order of the steps.

    Attributes:
        rewritten: Stored bodies of `withdrawal.rewritten`.
        texts: Stored bodies of `withdrawal.texts`.
        sequences: Sequences of the withdrawn interactions.
        erased_sequences: For an erasure, these and the sequences that were retracted before.
        sequence: Sequence of the log entry.
        freed: Texts (ref, version) whose parts were removed from messages.
    """

    connection: sqlite3.Connection
    directory: Directory
    withdrawal: Withdrawal
    barrier: StagedCheckpoint
    rewritten: Sequence[bytes]
    texts: Sequence[bytes]
    sequences: Sequence[int] = ()
    erased_sequences: Sequence[int] = ()
    sequence: int = 0
    freed: list[tuple[int, int]] = field(default_factory=list)

    def run(self) -> WithdrawalResult:
        """Run every step in one transaction.

        Raises:
            VersionClash: A newer text cites something that is withdrawn.
        """
        steps: dict[WithdrawalStep, Callable[[], object]] = {
            WithdrawalStep.VOID_CLAIMS: lambda: self._execute("DELETE FROM claim"),
            WithdrawalStep.CHECK_CITATIONS: self._check_citations,
            WithdrawalStep.DISCARD_STAGED: self._discard_staged,
            WithdrawalStep.WITHDRAW_INTERACTIONS: self._withdraw_interactions,
            WithdrawalStep.APPEND_LOG_ENTRY: self._append_log_entry,
            WithdrawalStep.CHANGE_TEXTS: self._change_texts,
            WithdrawalStep.ERASE_CLIENT: self._erase_client,
            WithdrawalStep.MOVE_TEXTS: self._move_texts,
            WithdrawalStep.REDUCE_MESSAGES: self._reduce_messages,
            WithdrawalStep.CHANGE_ATTRIBUTES: self._change_attributes,
            WithdrawalStep.CHANGE_MESSAGES: self._change_messages,
            WithdrawalStep.PUBLISH_BARRIER: lambda: publish_barrier(self.connection, self.barrier),
            WithdrawalStep.MARK_FOR_WIPING: lambda: read_next_number(self.connection, TO_WIPE),
            WithdrawalStep.RECORD_SEQUENCE: lambda: set_progress(
                self.connection, LAST_WITHDRAWAL, self.sequence
            ),
            WithdrawalStep.EMPTY_CACHES: self._empty_caches,
        }
        for step in order_withdrawal_steps(self.withdrawal):
            steps[step]()
        return WithdrawalResult(sequence=self.sequence, interactions=len(self.sequences))

    def _check_citations(self) -> None:
        check_uncited(
            self.withdrawal,
            build_texts_from(
                self.connection,
                "profile_version v WHERE v.rowid > ?",
                self.withdrawal.texts_read_through,
            ),
        )
        if self.withdrawal.erased is not None:
            check_orphans(self.withdrawal, find_orphans(self.connection, self.withdrawal.erased))

    def _discard_staged(self) -> None:
        discard_unpublished(self.connection, find_last_round(self.connection))
        self.connection.execute("DELETE FROM staged_learned")

    def _withdraw_interactions(self) -> None:
        """Remove interactions and what depends on them.

        An erasure also removes the client's events that were recorded meanwhile.
        """
        erased = self.withdrawal.erased
        if erased is None:
            which = f"sequence {IN}"
            asked: str | int = to_json([row.sequence for row in self.withdrawal.interactions])
            self._execute(
                "INSERT INTO retracted SELECT sequence, event_id, content_hash, seed, user, item "
                f"FROM interaction WHERE {which}",
                asked,
            )
        else:
            which, asked = f"{get_kind(erased).name.lower()} = ?", erased
            events = self._execute(
                f"SELECT event_id, sequence FROM interaction WHERE {which} UNION ALL SELECT"
                f" event_id, sequence FROM retracted WHERE {which}",
                asked,
                asked,
            ).fetchall()
            store_forgotten_events(self.connection, [event_id for event_id, _ in events])
            self.erased_sequences = sorted(sequence for _, sequence in events)
            self._execute(f"DELETE FROM retracted WHERE {which}", asked)
        rows = self._execute(f"DELETE FROM interaction WHERE {which} RETURNING sequence", asked)
        self.sequences = sorted(sequence for (sequence,) in rows)
        learned = set(empty_rows(self.connection, self.sequences))
        put(
            self.connection,
            "vacant",
            2,
            [(sequence, int(sequence in learned)) for sequence in self.sequences],
        )
        for table in ("reasoned", "dead_letter", "gradient"):
            self._execute(f"DELETE FROM {table} WHERE sequence {IN}", to_json(self.sequences))
        promote_rows(self.connection, self.withdrawal.promoted)

    def _append_log_entry(self) -> None:
        for kind, refs in list_entries(self.withdrawal):
            number = self.barrier.sequence if kind is self.withdrawal.kind else 0
            self.sequence = append_entry(self.connection, self.directory, kind, refs, number)

    def _change_texts(self) -> None:
        """Add texts, and rewrite stored ones in place.

        A stored text that retention dropped meanwhile stays dropped.
        """
        self.connection.executemany(
            "UPDATE profile_version SET body = ?, rewritten = rewritten | 1"
            " WHERE ref = ? AND version = ?",
            [
                (body, text.profile.ref, text.profile.version)
                for text, body in zip(self.withdrawal.rewritten, self.rewritten, strict=True)
            ],
        )
        put_texts(
            self.connection,
            build_text_rows([(text, self.sequence) for text in self.withdrawal.texts], self.texts),
            self.directory.now(),
        )

    def _move_texts(self) -> None:
        erased = to_json(self.erased_sequences)
        self._execute(MOVE_TEXTS, erased, self.sequence, self.directory.now())
        self._execute(MOVE_MERGES, self.sequence, erased)

    def _erase_client(self) -> None:
        erased_refs = to_json(self.withdrawal.erased_refs)
        clients = self._execute(
            f"SELECT ref, kind, id FROM client WHERE ref {IN}", erased_refs
        ).fetchall()
        self.connection.executemany(
            "DELETE FROM outbox WHERE collection = ? AND key = ?",
            [(COLLECTIONS[get_kind(ref)].value, str(ref)) for ref in self.withdrawal.erased_refs],
        )
        self._execute(
            "UPDATE progress SET value = value + (SELECT coalesce(sum(newest), 0) FROM (SELECT"
            f" max(version) AS newest FROM profile_version WHERE ref {IN} GROUP BY ref))"
            " WHERE name = 'texts_forgotten'",
            erased_refs,
        )
        self._execute(STRIP_LOG, erased_refs, to_json(KINDS_WITH_OTHERS))
        erase_words(self.connection, self.withdrawal.erased_refs)
        for table in OF_CLIENT:
            self._execute(f"DELETE FROM {table} WHERE ref {IN}", erased_refs)
        self._execute(
            f"DELETE FROM gradient WHERE module IN ('profile', 'filter_memory') AND owner {IN}",
            erased_refs,
        )
        # The content hash is removed where the content named the client. Any further event with
        # such an id then counts as a repeat.
        self._execute(
            "UPDATE interaction SET negative = NULL, content_hash = ''"
            f" WHERE negative IS NOT NULL AND negative {IN}",
            erased_refs,
        )
        if len(items := mark_items(self.withdrawal.erased_refs)):
            clear_draws(self.connection, items)
        for ref, kind, name in clients:
            self.directory.forget(kind, name)
            raise_progress(self.connection, f"refs_given_{kind}", index_of(ref) + 1)

    def _change_attributes(self) -> None:
        lost = find_lost_attributes(self.withdrawal)
        drop_texts(self.connection, self.freed, read_progress(self.connection, OLDEST_KEPT))
        put(
            self.connection,
            "held",
            2,
            [(ref, list(names)) for ref, names in self.withdrawal.client_attributes.items()],
            "INSERT OR REPLACE",
        )
        self.connection.executemany(
            "UPDATE attribute SET holders = ?, users = ? WHERE name = ?",
            [(one.holders, one.users, one.name) for one in list_held_attributes(self.withdrawal)],
        )
        self._execute(f"DELETE FROM attribute WHERE name {IN}", to_json(lost))
        self._execute(f"DELETE FROM attribute WHERE canonical {IN}", to_json(lost))
        self._execute(
            f"DELETE FROM attribute WHERE canonical IS NOT NULL AND name {IN}",
            to_json(sorted(self.withdrawal.unmapped)),
        )
        for name in lost:
            self._execute(
                "UPDATE held SET names = (SELECT json_group_array(value) FROM json_each(names) "
                "WHERE value <> ?1) WHERE instr(names, ?2)",
                name,
                to_json(name),
            )
            self._execute(
                "DELETE FROM outbox WHERE collection = 'attributes' AND key = ?", to_json(name)
            )
        if lost:
            # Few gradients name a lost attribute: the query finds them faster than Python would.
            self._delete_naming(
                self._execute(
                    "SELECT rowid, text, attributes FROM gradient WHERE EXISTS (SELECT 1 FROM"
                    " json_each(?) n WHERE instr(casefold(text), n.value->>0)"
                    " OR instr(attributes, n.value->>1))",
                    to_json([(name.casefold(), to_json(name)) for name in lost]),
                ),
                lost,
            )
        if lost or self.withdrawal.unmapped:
            self._execute("REINDEX attribute")

    def _reduce_messages(self) -> None:
        for key, names in self.withdrawal.reduced_messages.items():
            self.freed += self._execute(
                "DELETE FROM integrated WHERE router = ? AND version = ?"
                f" AND (sequence {IN} OR attribute {IN}) RETURNING ref, profile_version",
                *key,
                to_json(self.sequences),
                to_json(sorted(names)),
            )
            if names:
                self._delete_naming(self._execute(GRADIENTS_OF_READERS, *key), names)

    def _change_messages(self) -> None:
        messages = self.withdrawal.messages
        self.connection.executemany(
            "UPDATE router_version SET name = ?, text = ?, attributes = ?, standing = ? WHERE "
            "router = ? AND version = ?",
            [
                (
                    message.name,
                    message.text,
                    to_json(message.attributes),
                    to_json(message.standing),
                    message.router,
                    message.version,
                )
                for message in messages
            ],
        )
        for key in self.withdrawal.reduced_messages:
            senders = self._execute(FIRST_SENDERS, *key, SENDERS_KEPT).fetchall()
            self._execute(
                "UPDATE router_version SET senders = ?, lone = ? WHERE router = ? AND version = ?",
                to_json(senders),
                find_lone_sender(frozenset(ref for _, ref, *_ in senders)),
                *key,
            )
        put_messages_out(self.connection, messages, self.directory.now())
        if self.withdrawal.postponed is not None:
            self._execute(
                "INSERT OR REPLACE INTO meta VALUES (?, ?)",
                POSTPONED_ARRIVALS,
                self.withdrawal.postponed,
            )
        self.connection.executemany(
            "UPDATE evolution_run SET report = ? WHERE run = ?",
            [(run.model_dump_json(), run.run) for run in self.withdrawal.reports],
        )
        if self.withdrawal.words:
            self.connection.executemany(
                "UPDATE dead_letter SET reason = '' WHERE sequence = ?",
                [
                    (sequence,)
                    for sequence, reason in self._execute(
                        "SELECT sequence, reason FROM dead_letter"
                    )
                    if names_one(reason, (), self.withdrawal.words)
                ],
            )

    def _empty_caches(self) -> None:
        self._execute("DELETE FROM meta WHERE name GLOB ?", f"{CACHED}*")
        self._execute("UPDATE dead_letter SET asked = '', answered = '' WHERE asked <> ''")

    def _delete_naming(
        self, gradients: Iterable[tuple[int, str, str]], names: Collection[str]
    ) -> None:
        """Delete the gradients that name one of these attributes.

        Args:
            gradients: (rowid, text, attributes as JSON) of each gradient.
            names: Names of attributes.
        """
        self.connection.executemany(
            "DELETE FROM gradient WHERE rowid = ?",
            [
                (row,)
                for row, text, attributes in gradients
                if names_one(text, orjson.loads(attributes), names)
            ],
        )

    def _execute(self, statement: str, *parameters: object) -> sqlite3.Cursor:
        return self.connection.execute(statement, parameters)
