"""The words of clients, made anew when their rules change."""

import logging
import sqlite3
import time

import orjson

from propagation.graph_rules import list_search_words, name_word_rules

RULES_FACT = "search_words"
"""Name of the fact in `meta` that names the rules of the stored words."""
CLIENTS_A_STATEMENT = 10_000
REPORT_SECONDS = 5.0
# `search_words` is a function of each connection (`connect`).
FILL = (
    "INSERT INTO client_word SELECT c.ref & 1, w.value, c.ref FROM (SELECT * FROM client WHERE"
    " ref > ?1 ORDER BY ref LIMIT ?2) c CROSS JOIN"
    " json_each(search_words(c.id, c.title, c.attributes, c.categories)) w"
)
LAST = "SELECT max(ref), count(*) FROM (SELECT ref FROM client WHERE ref > ? ORDER BY ref LIMIT ?)"
log = logging.getLogger(__name__)


def find_search_words(id_: str, title: str, attributes: str, categories: str) -> str:
    """Return the words of a client as a JSON array."""
    words = list_search_words(id_, title, orjson.loads(attributes), orjson.loads(categories))
    return orjson.dumps(words).decode()


def renew_words(connection: sqlite3.Connection) -> None:
    """Make the words of all clients anew if other rules made them.

    One transaction does it.
    """
    rules = name_word_rules().encode()
    found = connection.execute("SELECT value FROM meta WHERE name = ?", (RULES_FACT,)).fetchone()
    if found == (rules,):
        return
    connection.execute("BEGIN IMMEDIATE")
    make_words(connection)
    connection.execute("COMMIT")


def make_words(connection: sqlite3.Connection) -> None:
    """Make the words of all clients anew, inside a transaction.

    What takes longer than some seconds says in the log how far it is.
    """
    connection.execute("DELETE FROM client_word")
    count = connection.execute("SELECT count(*) FROM client").fetchone()[0]
    done, after, reported = 0, -1, time.monotonic()
    while True:
        last, some = connection.execute(LAST, (after, CLIENTS_A_STATEMENT)).fetchone()
        if not some:
            break
        connection.execute(FILL, (after, CLIENTS_A_STATEMENT))
        done, after = done + some, last
        if time.monotonic() - reported > REPORT_SECONDS:
            reported = time.monotonic()
            log.info("the search words of %d of %d clients are made anew", done, count)
    connection.execute(
        "INSERT INTO meta VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        (RULES_FACT, name_word_rules().encode()),
    )
