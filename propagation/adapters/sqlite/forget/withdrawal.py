"""The one commit of a retraction or an erasure."""

import sqlite3
from collections.abc import Iterable, Sequence

from propagation.adapters.sqlite.connection.client_ids import Directory
from propagation.adapters.sqlite.connection.json_rows import dumped, put
from propagation.adapters.sqlite.connection.leases import check_fence
from propagation.adapters.sqlite.connection.wiping import TAKEN_BACK, TO_WIPE
from propagation.adapters.sqlite.forget.learned_rows import empty_rows, promote_rows
from propagation.adapters.sqlite.forget.retention import drop_texts, oldest_kept
from propagation.adapters.sqlite.index.outbox import put_messages_out
from propagation.adapters.sqlite.learn.checkpoints import completed, covers
from propagation.adapters.sqlite.reason.texts import cited_since, put_texts, text_rows
from propagation.adapters.sqlite.record.forgotten_events import forget_events
from propagation.adapters.sqlite.record.record import append_entry
from propagation.adapters.sqlite.rounds.messages import last_round
from propagation.adapters.sqlite.rounds.rounds import SENDERS_KEPT, discard_unpublished
from propagation.model.clients.client_text import ClientText
from propagation.model.interactions.learned_block import StagedCheckpoint
from propagation.model.interactions.withdrawal import Withdrawal, WithdrawalResult
from propagation.model.routers.router import RouterVersion
from propagation.ports.graph.graph_store import VersionClash
from propagation.ports.graph.leases import Lease

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
    "DELETE FROM integrated WHERE router = ? AND version = ? AND attribute IN (SELECT value FROM json_each(?))"
    " RETURNING ref, profile_version"
)
# In the order in which they were integrated; the index alone finds them.
FIRST_SENDERS = (
    "SELECT i.attribute, i.ref, i.profile_version, i.sequence FROM (SELECT min(rowid) AS row FROM integrated"
    " WHERE router = ? AND version = ? GROUP BY ref ORDER BY row LIMIT ?) f CROSS JOIN integrated i ON i.rowid = f.row"
    " ORDER BY i.rowid"
)
PARTS_GO = (
    "DELETE FROM integrated WHERE router = ? AND version = ? AND sequence IN (SELECT value FROM json_each(?))"
    " RETURNING ref, profile_version"
)


def withdraw(
    connection: sqlite3.Connection,
    directory: Directory,
    lease: Lease,
    withdrawal: Withdrawal,
    barrier: StagedCheckpoint,
    rewritten: Sequence[bytes],
    texts: Sequence[bytes],
) -> WithdrawalResult:
    """`rewritten` and `texts`: the stored bodies of the withdrawal's."""
    check_fence(connection, lease)
    ref = cited_since(
        connection,
        withdrawal.texts_read_through,
        {row.sequence for row in withdrawal.interactions},
        {(message.router, message.version) for message in withdrawal.messages},
    )
    if ref is not None:
        raise VersionClash(ref)
    connection.execute("DELETE FROM claim")
    discard_unpublished(connection, last_round(connection))
    connection.execute("DELETE FROM staged_learned")
    sequences = _interactions_go(connection, directory, withdrawal)
    promote_rows(connection, withdrawal.promoted)
    sequence = append_entry(
        connection, directory, withdrawal.kind, withdrawal.refs, barrier.sequence
    )
    _rewrite(connection, withdrawal.rewritten, rewritten)
    put_texts(
        connection,
        text_rows([(text, sequence) for text in withdrawal.texts], texts),
        directory.now(),
    )
    freed = []
    if withdrawal.erased is not None:
        freed = _client_goes(
            connection, directory, withdrawal.erased, withdrawal.sent_under, withdrawal.words
        )
    else:
        freed = [
            row
            for key in withdrawal.reduced_messages
            for row in connection.execute(PARTS_GO, (*key, dumped(sequences)))
        ]
    gone = [name for name, holders in withdrawal.holders.items() if holders <= 0]
    freed += [
        row
        for key in withdrawal.reduced_messages
        for row in connection.execute(NAMED_GO, (*key, dumped(gone)))
    ]
    drop_texts(connection, freed, oldest_kept(connection))
    _messages_change(connection, withdrawal.messages, withdrawal.reduced_messages)
    put_messages_out(connection, withdrawal.messages, directory.now())
    _attributes_change(connection, withdrawal)
    completed(connection, barrier.id)
    connection.execute("DELETE FROM checkpoint WHERE id < ?", (barrier.id,))
    covers(connection, barrier.sequence)
    if withdrawal.erased is not None:
        connection.execute(
            "INSERT INTO progress VALUES (?, 1) ON CONFLICT (name) DO UPDATE SET value = value + 1",
            (TO_WIPE,),
        )
    connection.execute("INSERT OR REPLACE INTO progress VALUES (?, ?)", (TAKEN_BACK, sequence))
    return WithdrawalResult(sequence=sequence, interactions=len(sequences))


def _interactions_go(
    connection: sqlite3.Connection, directory: Directory, withdrawal: Withdrawal
) -> list[int]:
    """Their rows, and what hangs on them. An erasure takes what was recorded of the client
    meanwhile, too."""
    asked = dumped([row.sequence for row in withdrawal.interactions])
    which, parameters = f"sequence {IN}", (asked,)
    erased = withdrawal.erased
    if erased is not None:
        column = "item" if erased & 1 else "user"
        which, parameters = f"{column} = ?", (erased,)  # type: ignore[assignment]
        events = [
            row[0]
            for row in connection.execute(
                f"SELECT event_id FROM interaction WHERE {which} UNION ALL SELECT event_id FROM retracted WHERE {which}",
                (erased, erased),
            )
        ]
        forget_events(connection, events)
        connection.execute(f"DELETE FROM retracted WHERE {which}", parameters)
    else:
        connection.execute(
            "INSERT INTO retracted SELECT sequence, event_id, content_hash, seed, user, item FROM interaction"
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
    """Returns texts (ref, version) of others that messages no longer hold."""
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
    connection.execute(
        "INSERT INTO progress VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = max(value, excluded.value)",
        (f"refs_given_{kind}", (ref >> 1) + 1),
    )
    return freed


def _rewrite(
    connection: sqlite3.Connection, texts: Iterable[ClientText], bodies: Sequence[bytes]
) -> None:
    """Stored versions in place; one that retention dropped meanwhile stays dropped."""
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
        "UPDATE router_version SET name = ?, text = ?, attributes = ?, standing = ? WHERE router = ? AND version = ?",
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
    gone = [name for name, holders in withdrawal.holders.items() if holders <= 0]
    for name in gone:
        connection.execute(
            "UPDATE held SET names = (SELECT json_group_array(value) FROM json_each(names) WHERE value <> ?1)"
            " WHERE instr(names, ?2)",
            (name, dumped(name)),
        )
    connection.executemany(
        "UPDATE attribute SET holders = ? WHERE name = ?",
        [(holders, name) for name, holders in withdrawal.holders.items() if holders > 0],
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
