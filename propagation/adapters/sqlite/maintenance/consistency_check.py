"""Checks of the stored data, and the remains of killed processes.

Each finding is a sentence.
"""

import sqlite3
from collections.abc import Iterator
from itertools import islice

from propagation.adapters.shared.learned_blocks import BYTES_PER_ROW, REMOVED_DRAWS
from propagation.adapters.shared.text_bodies import describe_damage
from propagation.adapters.sqlite.connection import free_all
from propagation.adapters.sqlite.forget.learned_rows import find_blocks_naming, read_removed_items
from propagation.adapters.sqlite.reason.texts import FOLLOWS_GAP
from propagation.adapters.sqlite.rounds.messages import find_last_round
from propagation.adapters.sqlite.rounds.rounds import discard_unpublished
from propagation.errors import REBUILD
from propagation.model import pluralize

FINDINGS_A_QUESTION = 5
EXPECTED_WORDS = "search_words(c.id, c.title, c.attributes, c.categories)"
# Each takes 16 µs a client, for the words are computed.
WORD_QUESTIONS = (
    (
        "the search word {!r} of client {} is missing",
        f"SELECT w.value, c.ref FROM client c CROSS JOIN json_each({EXPECTED_WORDS}) w WHERE NOT"
        " EXISTS (SELECT 1 FROM client_word k WHERE k.kind = c.ref & 1 AND k.word = w.value AND"
        " k.ref = c.ref)",
    ),
    (
        "client {} has {} search words, and its texts have {}",
        "SELECT ref, stored, expected FROM (SELECT c.ref, k.stored,"
        f" json_array_length({EXPECTED_WORDS}) AS expected FROM (SELECT ref, count(*) AS stored"
        " FROM client_word GROUP BY ref) k JOIN client c USING (ref)) WHERE stored > expected",
    ),
)
PUBLISHED = "(SELECT coalesce(max(number), 0) FROM round)"
# Retention may have dropped rows whose life ended at or before this sequence.
KEPT = "coalesce((SELECT value FROM progress WHERE name = 'oldest_kept'), 0)"
WITHDRAWN = "coalesce((SELECT value FROM progress WHERE name = 'taken_back'), 0)"
LEARNED = "(SELECT coalesce(max(through), 0) FROM learned)"
LOG = (
    "(SELECT (SELECT count(*) FROM interaction) + (SELECT count(*) FROM log)"
    " + (SELECT count(*) FROM vacant) AS entries, max(coalesce((SELECT max(sequence) FROM"
    " interaction), 0), coalesce((SELECT max(sequence) FROM log), 0)) AS recorded)"
)
# Contents of clients by the entries of the log that gave them: one names each, and no other does.
NAMED_CONTENTS = (
    "SELECT l.sequence, e.value AS ref FROM log l CROSS JOIN"
    " json_each(iif(json_valid(l.refs), l.refs, '[]')) e WHERE l.kind = 'clients'"
)
STORED_CONTENTS = (
    "SELECT sequence, ref FROM client UNION ALL SELECT sequence, ref FROM client_before"
)
# Counters, and the column of a table that holds the numbers they gave: one that is too low would
# give a number twice.
NUMBERED = (
    ("merged", "merged", "number"),
    ("gradient", "gradient", "rowid"),
    ("evolution", "evolution_run", "run"),
    ("checkpoint", "checkpoint", "id"),
    ("claim", "claim", "token"),
)
# Columns of JSON, by table.
LISTS = {
    "client": ("attributes", "categories", "metadata"),
    "client_before": ("attributes", "categories", "metadata"),
    "log": ("refs",),
    "held": ("names",),
    "gradient": ("attributes",),
    "router_version": ("attributes", "standing", "senders"),
    "evolution_run": ("report",),
    "checkpoint_part": ("shape",),
    "point": ("attributes",),
}
# Each row that a query returns is one fault; its columns fill the text.
QUESTIONS = (
    (
        "sequence {} is given to an interaction and to another log entry",
        "SELECT sequence FROM interaction JOIN log USING (sequence)",
    ),
    *(
        (
            f"the seed of {noun} {{}} is not that of its event id",
            f"SELECT sequence FROM {table} WHERE seed <> derive_seed(event_id)",
        )
        for table, noun in (("interaction", "interaction"), ("retracted", "retracted event"))
    ),
    (
        "interaction {} names user {}, but it was reasoned for user {}",
        "SELECT sequence, i.user, r.user FROM reasoned r CROSS JOIN interaction i USING (sequence)"
        " WHERE i.user <> r.user",
    ),
    (
        "entry {} of the log wrote a content of client {}, which is missing",
        f"{NAMED_CONTENTS} EXCEPT SELECT * FROM ({STORED_CONTENTS})",
    ),
    (
        "entry {} of the log does not name client {}, whose content it wrote",
        f"SELECT * FROM ({STORED_CONTENTS}) EXCEPT {NAMED_CONTENTS}",
    ),
    (
        "client {} was named by an upsert, but is marked as one that only events named",
        "SELECT ref FROM client WHERE only_in_events AND (title <> '' OR description <> '' OR"
        " attributes <> '[]' OR categories <> '[]' OR metadata <> '{}' OR hidden"
        " OR ref IN (SELECT ref FROM client_before))",
    ),
    (
        "interaction {} names user {}, whom the graph does not have",
        "SELECT sequence, user FROM interaction WHERE user NOT IN (SELECT ref FROM client)",
    ),
    (
        "interaction {} names item {}, which the graph does not have",
        "SELECT sequence, item FROM interaction WHERE item NOT IN (SELECT ref FROM client)",
    ),
    (
        "interaction {} has an earlier commit time than the one before it",
        (
            "SELECT sequence FROM (SELECT sequence, at, lag(at) OVER (ORDER BY sequence) AS ahead "
            "FROM interaction) WHERE at < ahead"
        ),
    ),
    (
        f"learned block {{}} does not start where the one before it ends, at {{}}{REBUILD}",
        "SELECT through, ahead FROM (SELECT through, start, lag(through, 1, 0) OVER (ORDER BY "
        "through) AS ahead FROM learned)"
        " WHERE start <> ahead",
    ),
    (
        f"learned block {{}} holds {{}} interactions, the log has {{}} there{REBUILD}",
        "SELECT * FROM (SELECT l.through, l.size, (SELECT count(*) FROM interaction i WHERE "
        "i.sequence > l.start"
        " AND i.sequence <= l.through) + (SELECT count(*) FROM vacant v WHERE v.sequence > "
        "l.start AND v.sequence <= l.through"
        " AND v.learned) AS held FROM learned l) WHERE size <> held",
    ),
    (
        f"learned block {{}} has {{}} bytes, which do not fit its {{}} interactions{REBUILD}",
        "SELECT through, length(columns), size FROM learned WHERE length(columns) <>"
        f" size * {BYTES_PER_ROW}",
    ),
    (
        f"a checkpoint covers sequence {{}}, but the learned blocks end at {{}}{REBUILD}",
        "SELECT sequence, ended FROM checkpoint,"
        " (SELECT coalesce(max(through), 0) AS ended FROM learned) WHERE complete AND"
        " sequence > ended",
    ),
    (
        f"increments of trust through sequence {{}} belong to no learned block{REBUILD}",
        "SELECT through FROM trust_delta WHERE through NOT IN (SELECT through FROM learned)",
    ),
    (
        "two interactions have the same event id, sequences {} and {}",
        "SELECT i.sequence, j.sequence FROM interaction i JOIN interaction j ON j.seed = i.seed "
        "AND j.event_id = i.event_id"
        " AND j.sequence > i.sequence",
    ),
    (
        "two clients have the same id, refs {} and {}",
        "SELECT min(ref), max(ref) FROM client GROUP BY kind, id HAVING count(*) > 1",
    ),
    (
        "interaction {} was taken back but is in the log",
        "SELECT sequence FROM interaction WHERE sequence IN (SELECT sequence FROM vacant)",
    ),
    (
        "interaction {} is reasoned but not in the log",
        "SELECT sequence FROM reasoned WHERE sequence NOT IN (SELECT sequence FROM interaction)",
    ),
    (
        "client {}: version {} of its profile does not follow the one before it",
        "SELECT ref, version FROM (SELECT ref, version, lag(version) OVER (PARTITION BY ref "
        "ORDER BY version) AS ahead, sequence, rewritten"
        f" FROM profile_version) WHERE ahead <> version - 1 AND NOT rewritten & {FOLLOWS_GAP}"
        " AND sequence > coalesce((SELECT value FROM progress WHERE name = 'oldest_kept'), 0)",
    ),
    (
        "{} versions of profiles were written, but the newest ones that are stored add up to {}",
        "SELECT t.value - f.value AS written, stored FROM progress t, progress f,"
        " (SELECT coalesce(sum(newest), 0) AS stored FROM"
        " (SELECT max(version) AS newest FROM profile_version GROUP BY ref))"
        " WHERE t.name = 'texts' AND f.name = 'texts_forgotten' AND written <> stored",
    ),
    (
        "the counter {!r} is missing",
        "SELECT name FROM (SELECT 'texts' AS name, EXISTS (SELECT 1 FROM profile_version) AS used"
        " UNION ALL SELECT 'texts_forgotten', EXISTS (SELECT 1 FROM profile_version)"
        " UNION ALL SELECT 'reasoned', EXISTS (SELECT 1 FROM reasoned)"
        + "".join(
            f" UNION ALL SELECT '{name}', EXISTS (SELECT 1 FROM {table})"
            for name, table, _ in NUMBERED
        )
        + ") WHERE used AND name NOT IN (SELECT name FROM progress)",
    ),
    *(
        (
            f"the counter '{name}' is at {{}}, but the number {{}} is already given",
            f"SELECT value, given FROM progress, (SELECT max({number}) AS given FROM {table})"
            f" WHERE name = '{name}' AND value < given",
        )
        for name, table, number in NUMBERED
    ),
    (
        "the counter 'evolution' is at {}, and the stored runs are {}",
        "SELECT value, stored FROM progress, (SELECT count(*) AS stored FROM evolution_run)"
        " WHERE name = 'evolution' AND value > stored",
    ),
    (
        "a profile belongs to client {}, which the graph does not have",
        "SELECT DISTINCT ref FROM profile_version WHERE ref NOT IN (SELECT ref FROM client)",
    ),
    (
        "a search word belongs to client {}, which the graph does not have",
        "SELECT DISTINCT ref FROM client_word WHERE ref NOT IN (SELECT ref FROM client)",
    ),
    (
        "an edge leads from router {} to client {}, which the graph does not have",
        "SELECT router, ref FROM edge_ever WHERE ref NOT IN (SELECT ref FROM client)",
    ),
    (
        "an edge leads from router {}, which no epoch has, to client {}",
        "SELECT router, ref FROM edge_ever WHERE router >= (SELECT max(taste_k) FROM epoch)"
        f" AND opened <= {PUBLISHED}",
    ),
    (
        "the edge from router {} to client {} ended after it was opened anew",
        "SELECT e.router, e.ref FROM edge e JOIN edge_past p ON p.ref = e.ref AND p.router = "
        "e.router AND p.closed > e.opened"
        " WHERE p.closed <= (SELECT coalesce(max(number), 0) FROM round)",
    ),
    (
        "epoch {}, which the log opens at sequence {}, is missing",
        (
            "SELECT number, sequence FROM log WHERE kind IN ('bootstrap', 'evolution') AND sequence"
            " NOT IN (SELECT sequence FROM epoch)"
        ),
    ),
    (
        "the map of evolution {}, by which stored weights are read, is missing",
        "SELECT run FROM evolution_run WHERE published AND run NOT IN (SELECT run FROM router_map)",
    ),
    (
        "evolution {} is missing, but its map or lineage is stored",
        "SELECT run FROM (SELECT run FROM router_map UNION SELECT run FROM evolved_into)"
        " WHERE run NOT IN (SELECT run FROM evolution_run)",
    ),
    (
        "client {} has merged through round {}, which was never published",
        (
            "SELECT ref, watermark FROM profile_version WHERE watermark > (SELECT "
            "coalesce(max(number), 0) FROM round)"
        ),
    ),
    *(
        (
            f"row {{}} of {table} holds no list or object in {column}",
            f"SELECT {'ref' if table in ('held', 'client_before') else 'rowid'} FROM {table}"
            f" WHERE NOT json_valid({column})",
        )
        for table, columns in LISTS.items()
        for column in columns
    ),
    (
        "the kind of client {} does not match its number",
        "SELECT ref FROM client WHERE kind <> ref & 1",
    ),
    (
        "client {}: version {} of its profile is missing",
        "SELECT ref, max(version) AS needed FROM (SELECT ref, profile_version AS version FROM"
        " merged UNION ALL SELECT ref, 1 FROM held UNION ALL SELECT CAST(key AS INTEGER), 1 FROM"
        " point WHERE collection IN ('users', 'items') AND version > 0) JOIN client USING (ref)"
        " GROUP BY ref HAVING needed > coalesce((SELECT max(v.version) FROM profile_version v"
        " WHERE v.ref = client.ref), 0)",
    ),
    (
        "reason has passed interaction {}, which has no result",
        "SELECT i.sequence FROM interaction i LEFT JOIN reasoned r USING (sequence) WHERE"
        f" r.sequence IS NULL AND i.sequence > {KEPT}"
        " AND i.sequence <= (SELECT value FROM progress WHERE name = 'reasoned')",
    ),
    (
        "a dead letter belongs to interaction {}, which is not in the log",
        "SELECT sequence FROM dead_letter WHERE sequence NOT IN (SELECT sequence FROM interaction)",
    ),
    (
        "a gradient belongs to interaction {}, which is not in the log",
        "SELECT sequence FROM gradient WHERE sequence NOT IN (SELECT sequence FROM interaction)",
    ),
    (
        "the round that the log publishes at sequence {} is missing",
        "SELECT sequence FROM log WHERE kind IN ('round', 'evolution')"
        " AND sequence NOT IN (SELECT sequence FROM round)",
    ),
    (
        "round {} is not the round that the log publishes at sequence {}",
        "SELECT number, sequence FROM (SELECT *, row_number() OVER (ORDER BY sequence) AS place"
        " FROM round) WHERE number <> place OR sequence NOT IN (SELECT sequence FROM log WHERE"
        " kind IN ('round', 'evolution'))",
    ),
    (
        "of {} messages of round {}, {} are stored",
        "SELECT touched, number, stored FROM (SELECT *, (SELECT count(*) FROM router_version"
        f" WHERE round = number) AS stored FROM round WHERE sequence > {KEPT})"
        " WHERE touched <> stored",
    ),
    (
        "message {} of router {} belongs to round {}, which does not exist",
        "SELECT version, router, round FROM router_version WHERE round NOT IN (SELECT number FROM"
        f" round) AND round <= {PUBLISHED}",
    ),
    (
        "router {}: version {} of its messages does not follow the one before it",
        "SELECT router, version FROM (SELECT router, version, round, lag(version, 1, 0) OVER"
        " (PARTITION BY router ORDER BY version) AS ahead FROM router_version) m JOIN round r ON"
        f" r.number = m.round WHERE ahead <> version - 1 AND r.sequence > {KEPT}",
    ),
    (
        "message {} of router {} has lost some of its senders",
        "SELECT version, router FROM router_version v WHERE min(2, (SELECT count(DISTINCT ref) FROM"
        " integrated i WHERE i.router = v.router AND i.version = v.version))"
        " <> json_array_length(iif(json_valid(senders), senders, '[]'))",
    ),
    (
        "client {} merged message {} of router {}, which is missing",
        "SELECT ref, router_version, router FROM merged m WHERE NOT EXISTS (SELECT 1 FROM"
        " router_version v WHERE v.router = m.router AND v.version = m.router_version)",
    ),
    *(
        (
            f"{{}} rows of {table} are missing",
            "SELECT written - stored FROM (SELECT max(coalesce((SELECT value FROM progress WHERE"
            f" name = '{table}'), 0), coalesce((SELECT max(rowid) FROM {table}), 0)) AS written,"
            f" (SELECT count(*) FROM {table}) AS stored) WHERE written > stored"
            f" AND {KEPT} = 0 AND {WITHDRAWN} = 0",
        )
        for table in ("merged", "gradient", "integrated", "edge_past")
    ),
    (
        "of {} edges that round {} opened, {} are stored",
        "SELECT edges_opened, number, stored FROM (SELECT r.*, coalesce(e.stored, 0) AS stored FROM"
        " round r LEFT JOIN (SELECT opened, count(*) AS stored FROM edge_ever GROUP BY opened) e"
        f" ON e.opened = r.number WHERE r.sequence > max({KEPT}, {WITHDRAWN}))"
        " WHERE edges_opened <> stored",
    ),
    (
        "the edge from router {} to client {} belongs to round {}, which does not exist",
        "SELECT router, ref, changed FROM (SELECT router, ref, opened AS changed FROM edge_ever"
        " UNION ALL SELECT router, ref, closed FROM edge_past) WHERE changed NOT IN (SELECT number"
        f" FROM round) AND changed <= {PUBLISHED}",
    ),
    (
        "the log lacks {} of its entries",
        f"SELECT recorded - entries FROM {LOG} WHERE entries < recorded",
    ),
    (
        "the log holds {} entries too many",
        f"SELECT entries - recorded FROM {LOG} WHERE entries > recorded",
    ),
    (
        f"learn has passed the log: it is at sequence {{}}{REBUILD}",
        f"SELECT {LEARNED} FROM {LOG} WHERE recorded < {LEARNED}",
    ),
    (
        f"reason has passed learn: it is at sequence {{}}{REBUILD}",
        f"SELECT value FROM progress WHERE name = 'reasoned' AND value > {LEARNED}",
    ),
    (
        f"increments of trust are missing from sequence {{}} on{REBUILD}",
        "SELECT gap FROM (SELECT min(l.through) AS gap FROM learned l LEFT JOIN trust_delta t"
        " USING (through) WHERE t.through IS NULL AND l.through > coalesce((SELECT max(sequence)"
        " FROM checkpoint WHERE complete), 0)) WHERE gap IS NOT NULL",
    ),
)


# Remains of killed processes: harmless, but counted and removed here.
LEFTOVERS = (
    ("lease", "of a process that is gone", "SELECT count(*) FROM lease WHERE expires > 0"),
    ("claim", "of a process that is gone", "SELECT count(*) FROM claim"),
    (
        "row",
        "of a round that was never published",
        "SELECT (SELECT count(*) FROM staged_attribute) + (SELECT count(*) FROM staged_held)"
        " + (SELECT count(*) FROM staged_outbox)"
        " + (SELECT count(*) FROM router_version WHERE round > :last)"
        " + (SELECT count(*) FROM edge WHERE opened > :last) + (SELECT count(*) FROM edge_past "
        "WHERE closed > :last)",
    ),
    ("block", "of an epoch that was never opened", "SELECT count(*) FROM staged_learned"),
    (
        "part",
        "of checkpoints that were never completed",
        "SELECT (SELECT count(*) FROM checkpoint WHERE NOT complete)"
        " + (SELECT count(*) FROM checkpoint_part WHERE checkpoint NOT IN (SELECT id FROM "
        "checkpoint WHERE complete))",
    ),
)


def find_inconsistencies(connection: sqlite3.Connection, *, thorough: bool = True) -> list[str]:
    """Return the faults of a database, at most five of a kind.

    Args:
        thorough: Also compare each index with its table, which takes most of the time (50 s of 65
            for 2.3 GB), read every text, and compare search words with clients.

    Returns:
        A sentence for each fault; none if the database is sound.
    """
    look = "integrity_check" if thorough else "quick_check"
    damage = [
        f"the file is damaged: {row[0]}; restore it from a back-up"
        for row in connection.execute(f"PRAGMA {look}({FINDINGS_A_QUESTION})")
        if row[0] != "ok"
    ]
    if damage:
        return damage
    found = [
        text.format(*row)
        for text, question in (*QUESTIONS, *(WORD_QUESTIONS if thorough else ()))
        for row in connection.execute(f"{question} LIMIT {FINDINGS_A_QUESTION}")
    ]
    if thorough:
        found.extend(islice(_find_unreadable_texts(connection), FINDINGS_A_QUESTION))
        found.extend(islice(_find_removed_draws(connection), FINDINGS_A_QUESTION))
    return found


def _find_unreadable_texts(connection: sqlite3.Connection) -> Iterator[str]:
    for ref, version, body in connection.execute("SELECT ref, version, body FROM profile_version"):
        if damage := describe_damage(body, ref, version):
            yield damage


def _find_removed_draws(connection: sqlite3.Connection) -> Iterator[str]:
    marked = read_removed_items(connection)
    for named in find_blocks_naming(connection, marked):
        yield REMOVED_DRAWS.format(*named)


def list_leftovers(connection: sqlite3.Connection) -> list[str]:
    """Count remains; call it only while no process serves the database.

    The work of a running process would be counted as remains.
    """
    last = find_last_round(connection)
    found = [
        (connection.execute(sql, {"last": last}).fetchone()[0], noun, origin)
        for noun, origin, sql in LEFTOVERS
    ]
    return [f"{pluralize(count, noun)} {origin}" for count, noun, origin in found if count]


def drop_leftovers(connection: sqlite3.Connection) -> None:
    """Remove remains in one transaction; published rows do not change."""
    connection.execute("BEGIN IMMEDIATE")
    free_all(connection)
    discard_unpublished(connection, find_last_round(connection), everywhere=True)
    connection.execute("DELETE FROM staged_learned")
    connection.execute("DELETE FROM checkpoint WHERE NOT complete")
    connection.execute(
        "DELETE FROM checkpoint_part WHERE checkpoint NOT IN (SELECT id FROM checkpoint)"
    )
    connection.execute("COMMIT")
