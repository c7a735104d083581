"""What SQLite fetches suffices for the rule of waiting messages, on random histories."""

import sqlite3
from contextlib import closing

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from propagation.adapters.sqlite.connection import create_tables
from propagation.adapters.sqlite.rounds.messages import read_waiting_keys
from propagation.reception.message_buffer import (
    ClientEdge,
    Receiver,
    SentMessage,
    WaitingMessages,
    Window,
)

REFS, ROUTERS, ROUNDS = range(4), range(4), range(1, 9)


def build_empty_database():
    """The bytes of a database with its tables, which take longer to make than an example."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        create_tables(connection)
        return connection.serialize()


EMPTY_DATABASE = build_empty_database()


@st.composite
def edge_histories(draw):
    """Edges (ref, edge); the edges of one client and router follow one another."""
    edges = []
    for ref in REFS:
        for router in ROUTERS:
            bounds = sorted(draw(st.sets(st.sampled_from(ROUNDS), max_size=4)))
            for opened, closed in zip(bounds[::2], [*bounds[1::2], None], strict=False):
                edges.append((ref, ClientEdge(router, opened, closed)))
            ends_closed = bounds and len(bounds) % 2 == 0
            if ends_closed and draw(st.booleans()):
                edges.append((ref, ClientEdge(router, bounds[-1])))
    return edges


@st.composite
def sent_messages(draw):
    """Messages by router: ascending versions, at most one of a router in a round."""
    sent = []
    for router in ROUTERS:
        for version, round_ in enumerate(sorted(draw(st.sets(st.sampled_from(ROUNDS))))):
            lone_sender = draw(st.none() | st.sampled_from(REFS))
            sent.append(SentMessage(router, version, round_, lone_sender, epoch=round_ // 3))
    return sent


@pytest.mark.slow
@given(
    edges=edge_histories(),
    sent=sent_messages(),
    watermarks=st.fixed_dictionaries({ref: st.integers(0, 9) for ref in REFS}),
    through=st.integers(0, 9),
)
@settings(max_examples=100, deadline=None)
def test_the_store_finds_what_the_rule_finds_in_the_whole_history(edges, sent, watermarks, through):
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.deserialize(EMPTY_DATABASE)
        insert_facts(connection, edges, sent)
        found = read_waiting_keys(connection, watermarks, through)
    assert found == find_waiting_by_rule(edges, sent, watermarks, through)


def insert_facts(connection, edges, sent):
    for ref, edge in edges:
        if edge.closed is None:
            connection.execute(
                "INSERT INTO edge (ref, router, opened, score) VALUES (?, ?, ?, 1.0)",
                (ref, edge.router, edge.opened),
            )
        else:
            connection.execute(
                """
                INSERT INTO edge_past (ref, router, opened, closed, score)
                VALUES (?, ?, ?, ?, 1.0)
                """,
                (ref, edge.router, edge.opened, edge.closed),
            )
    connection.executemany(
        """
        INSERT INTO router_version
            (router, version, round, lone, epoch, name, text, attributes, standing)
        VALUES (?, ?, ?, ?, ?, '', '', '[]', '[]')
        """,
        [(one.router, one.version, one.round, one.lone_sender, one.epoch) for one in sent],
    )
    connection.executemany(
        "INSERT INTO round VALUES (?, 0, ?, 0, 0, 0, 0, 0)",
        [(number, 10 * number) for number in ROUNDS],
    )
    connection.executemany(
        "INSERT INTO epoch VALUES (?, ?, 0, 0, NULL, '', ?)",
        [(number, 30 * number - 5, number) for number in (1, 2)],
    )


def find_waiting_by_rule(edges, sent, watermarks, through):
    receivers = []
    for ref, watermark in watermarks.items():
        own = [edge for owner, edge in edges if owner == ref and edge.opened <= through]
        first = min((edge.opened for edge in own), default=None)
        receivers.append(Receiver(ref, watermark, own, first, (first or 0) // 3))
    search = WaitingMessages(receivers, through)
    current = {}
    for router, round_ in search.list_rounds():
        newest = find_newest(sent, Window(router, 0, round_, ref=-1))
        if newest is not None:
            current[router, round_] = newest
    from_others = {}
    for window in search.list_own_windows(current):
        newest = find_newest(sent, window)
        if newest is not None:
            from_others[window] = newest
    return search.choose(current, from_others)


def find_newest(sent, window):
    """The newest message in a window that does not come from the window's client alone."""
    inside = [
        one
        for one in sent
        if one.router == window.router
        and window.since <= one.round <= window.until
        and one.lone_sender != window.ref
    ]
    return max(inside, key=lambda one: one.round, default=None)
