"""The check of the stored data finds what somebody deleted from the file, or wrote over."""

import pytest

from propagation.adapters.shared.text_bodies import BodyEncoder
from propagation.model import ClientChange, ClientKey, ClientKind, DamagedText
from tests.contract.evolutions import REPORT
from tests.contract.graph_store import event, record_pairs, text
from tests.contract.inside_cases import ANN, BOB, UPSERTS, assert_damage_is_found, fill_store

pytestmark = pytest.mark.parametrize("reopen", ["sqlite"], indirect=True)
DAMAGES = {
    "the last learned block, which a checkpoint covers": (
        "DELETE FROM learned WHERE through = (SELECT max(through) FROM learned)",
        "learned blocks end at",
    ),
    "a learned block between others": (
        "DELETE FROM learned WHERE through = (SELECT min(through) FROM learned)",
        "does not start where the one before it ends",
    ),
    "half of a learned block": (
        "UPDATE learned SET columns = substr(columns, 1, 99)",
        "do not fit its",
    ),
    "a client's texts": (
        f"DELETE FROM profile_version WHERE ref = {ANN}",
        "of its profile, the current one, is missing|versions of profiles were written",
    ),
    "a client's newest text": (
        f"DELETE FROM profile_version WHERE ref = {ANN} AND version = 2",
        "of its profile, the current one, is missing|versions of profiles were written",
    ),
    "the body of a text": (
        f"UPDATE profile_version SET body = x'00ff' WHERE ref = {ANN} AND version = 1",
        f"client {ANN}: version 1 of its profile cannot be read",
    ),
    "an edge": (
        "DELETE FROM edge",
        "of 2 edges that round 1 opened, 1 are stored",
    ),
    "a client, but not its search words": (
        "INSERT INTO client_word VALUES (0, 'word', 98)",
        "a search word belongs to client 98, which the graph does not have",
    ),
    "a search word": (
        f"DELETE FROM client_word WHERE ref = {ANN}",
        f"the search word 'u0' of client {ANN} is missing",
    ),
    "a client's text, but not its search words": (
        f"INSERT INTO client_word VALUES (0, 'gone', {ANN})",
        f"client {ANN} has 2 search words, and its texts have 1",
    ),
    "the routers of an epoch": (
        "INSERT INTO epoch VALUES (1, 1, 4, 4, NULL, 'e', 0)",
        "an edge leads from router 4, which no epoch has, to client 2",
    ),
    "all counters": (
        "DELETE FROM progress",
        "the counter 'merged' is missing",
    ),
    "the counter that others are compared with": (
        "DELETE FROM progress WHERE name = 'texts_forgotten'",
        "the counter 'texts_forgotten' is missing",
    ),
    "the counter of merges": (
        "UPDATE progress SET value = value - 1 WHERE name = 'merged'",
        "the counter 'merged' is at 0, but the number 1 is already given",
    ),
    "the counter of gradients": (
        "UPDATE progress SET value = 1 WHERE name = 'gradient'",
        "the counter 'gradient' is at 1, but the number 2 is already given",
    ),
    "the counter of checkpoints": (
        "UPDATE progress SET value = 0 WHERE name = 'checkpoint'",
        "the counter 'checkpoint' is at 0, but the number 1 is already given",
    ),
    "the counter of checkpoints, which is gone": (
        "DELETE FROM progress WHERE name = 'checkpoint'",
        "the counter 'checkpoint' is missing",
    ),
    "the counter of claims": (
        "INSERT INTO claim VALUES (7, 'w', 0, '[]')",
        "the counter 'claim' is at 1, but the number 7 is already given",
    ),
    "an edge that ended": (
        "DELETE FROM edge_past",
        "of 2 edges that round 1 opened, 1 are stored",
    ),
    "the round of an edge": (
        "UPDATE edge SET opened = 0",
        "the edge from router 4 to client 2 belongs to round 0, which does not exist",
    ),
    "a round": (
        "DELETE FROM round WHERE number = 1",
        "the round that the log publishes at sequence",
    ),
    "the newest round": (
        "DELETE FROM round WHERE number = 2",
        "the round that the log publishes at sequence",
    ),
    "the number of a round": (
        "UPDATE round SET number = 7 WHERE number = 2",
        "round 7 is not the round that the log publishes at sequence",
    ),
    "a message that was merged": (
        "DELETE FROM router_version WHERE version = 1",
        "client 0 merged message 1 of router 3, which is missing",
    ),
    "a list of a message": (
        "UPDATE router_version SET standing = '[' WHERE version = 1",
        "of router_version holds no list or object in standing",
    ),
    "a part of a message": (
        "DELETE FROM integrated WHERE version = 1",
        "message 1 of router 3 has lost some of its senders",
    ),
    "a merge": (
        "DELETE FROM merged",
        "1 rows of merged are missing",
    ),
    "a gradient": (
        "DELETE FROM gradient WHERE rowid = 1",
        "1 rows of gradient are missing",
    ),
    "all gradients": (
        "DELETE FROM gradient",
        "2 rows of gradient are missing",
    ),
    "what was reasoned of an interaction": (
        "DELETE FROM reasoned WHERE sequence = (SELECT min(sequence) FROM reasoned)",
        "which has no result",
    ),
    "two bodies, swapped": (
        f"UPDATE profile_version SET body = (SELECT body FROM profile_version o WHERE o.ref = {ANN}"
        f" AND o.version = 3 - profile_version.version) WHERE ref = {ANN}",
        f"client {ANN}: version 1 of its profile is not what was written",
    ),
    "a client's texts, which are named": (
        f"DELETE FROM profile_version WHERE ref = {ANN}",
        f"client {ANN}: version 1 of its profile is missing",
    ),
    "the kind of a client": (
        f"UPDATE client SET kind = 1 WHERE ref = {ANN}",
        f"the kind of client {ANN} does not match its number",
    ),
    "an entry of the log": (
        "DELETE FROM log WHERE kind = 'round'",
        "is not the round that the log",
    ),
    "the seed of an event": (
        "UPDATE interaction SET seed = seed + 1 WHERE sequence = 2",
        "the seed of interaction 2 is not that of its event id",
    ),
    "the id of an event": (
        "UPDATE interaction SET event_id = event_id || 'x' WHERE sequence = 2",
        "the seed of interaction 2 is not that of its event id",
    ),
    "the id of a retracted event": (
        "INSERT INTO retracted SELECT 1, 'changed', '', seed, user, item FROM interaction LIMIT 1",
        "the seed of retracted event 1 is not that of its event id",
    ),
    "the user of an interaction": (
        f"UPDATE interaction SET user = {BOB} WHERE sequence = 2",
        f"interaction 2 names user {BOB}, but it was reasoned for user {ANN}",
    ),
    "the content of a client": (
        f"UPDATE client SET sequence = 2 WHERE ref = {ANN}",
        f"entry 1 of the log wrote a content of client {ANN}, which is missing",
    ),
    "a client that an entry of the log names": (
        "UPDATE log SET refs = '[]' WHERE sequence = 1",
        f"entry 1 of the log does not name client {ANN}, whose content it wrote",
    ),
    "the mark of a client that was described": (
        f'UPDATE client SET only_in_events = 1, metadata = \'{{"a":"b"}}\' WHERE ref = {ANN}',
        f"client {ANN} was named by an upsert, but is marked as one that only events named",
    ),
    "a message": (
        "DELETE FROM router_version WHERE version = 2",
        "of 1 messages of round 2, 0 are stored",
    ),
}


@pytest.mark.parametrize(("statement", "found"), DAMAGES.values(), ids=DAMAGES)
async def test_what_was_damaged_is_found(store, statement, found):
    async def damage():
        await store.database.write(lambda connection: connection.execute(statement))

    await assert_damage_is_found(store, damage, found)


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        (
            "UPDATE progress SET value = 1 WHERE name = 'evolution'",
            "the counter 'evolution' is at 1, but the number 2 is already given",
        ),
        (
            "DELETE FROM progress WHERE name = 'evolution'",
            "the counter 'evolution' is missing",
        ),
        (
            "DELETE FROM evolution_run WHERE run = 1",
            "the counter 'evolution' is at 2, and the stored runs are 1",
        ),
        ("DELETE FROM evolution_run", "the counter 'evolution' is at 2, and the stored runs are 0"),
    ],
    ids=["the counter", "no counter", "a run", "all runs"],
)
async def test_a_lost_run_of_evolution_or_its_counter_is_found(store, statement, found):
    await store.save_evolution(REPORT)
    await store.save_evolution(REPORT)
    assert await store.check() == []
    await store.database.write(lambda connection: connection.execute(statement))
    assert await store.check() == [found]


async def test_a_body_that_was_written_by_hand_is_found(store):
    await fill_store(store)
    (line,) = text(ANN, 1, "likes jazz \x1b[31m").profile.lines
    await store.database.write(
        lambda connection: connection.execute(
            "UPDATE profile_version SET body = ? WHERE ref = ? AND version = 1",
            (BodyEncoder().encode((line,), (), BOB, 1), ANN),
        )
    )
    assert f"client {ANN}: version 1 of its profile is not what was written" in await store.check()


async def test_a_damaged_text_is_named_as_such_and_the_database_still_takes_events(store):
    await fill_store(store)
    await store.database.write(
        lambda connection: connection.execute(
            "UPDATE profile_version SET body = x'00ff' WHERE ref = ?", (ANN,)
        )
    )
    with pytest.raises(DamagedText, match="doctor"):
        await store.load_texts([ANN])
    await record_pairs(store, ("u0", "i0"))


async def test_the_earlier_content_of_a_client_is_missed(store):
    """A client whose content changed has two entries of the log, and a row of the first."""
    await fill_store(store)
    key = ClientKey(ClientKind.USER, "u0")
    (changed,) = await store.upsert_clients([ClientChange(key=key, title="Ann")])
    assert await store.check() == []
    await store.database.write(lambda connection: connection.execute("DELETE FROM client_before"))
    assert await store.check() == [
        f"entry 1 of the log wrote a content of client {ANN}, which is missing"
    ]
    await store.database.write(
        lambda connection: connection.execute(
            "UPDATE log SET refs = '[]' WHERE sequence = ?", (changed.sequence,)
        )
    )
    assert (
        f"entry {changed.sequence} of the log does not name client {ANN}, whose content it wrote"
    ) in await store.check()


@pytest.mark.parametrize("said", UPSERTS)
async def test_a_client_that_an_upsert_named_is_not_marked_as_one_of_events(store, said):
    await store.record([event("e1", "new", "red")], auto_create=True)
    assert await store.check() == []
    key = ClientKey(ClientKind.USER, "new")
    (changed,) = await store.upsert_clients([ClientChange(key=key, **said)])
    assert await store.check() == []
    await store.database.write(
        lambda connection: connection.execute("UPDATE client SET only_in_events = 1")
    )
    assert (
        f"client {changed.ref} was named by an upsert, but is marked as one that only events named"
        in await store.check()
    )
