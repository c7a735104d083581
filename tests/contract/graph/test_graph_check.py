"""The check of the stored data finds what somebody deleted from a database, or wrote over."""

import pytest

from propagation.adapters.sqlite.reason.text_bodies import body_of
from propagation.adapters.sqlite.store import SqliteStore
from propagation.model import EntryKind, MessageMerge, Withdrawal
from tests.contract.graph_store import (
    checkpoint,
    edge,
    gradient,
    learn_all,
    message,
    reasoned,
    recorded,
    run_round,
    text,
    user,
    withdraw,
)
from tests.neo4j_server.shared import shared_server

ANN, BOB = user(0), user(1)
DAMAGES = {
    "the last learned block, which a checkpoint covers": (
        "DELETE FROM learned WHERE through = (SELECT max(through) FROM learned)",
        "MATCH (b:LearnedBlock) WITH b ORDER BY b.through DESC LIMIT 1 DELETE b",
        "learned blocks end at",
    ),
    "a learned block between others": (
        "DELETE FROM learned WHERE through = (SELECT min(through) FROM learned)",
        "MATCH (b:LearnedBlock) WITH b ORDER BY b.through LIMIT 1 DELETE b",
        "does not start where the one before it ends",
    ),
    "half of a learned block": (
        "UPDATE learned SET columns = substr(columns, 1, 99)",
        None,
        "do not fit its",
    ),
    "a client's texts": (
        f"DELETE FROM profile_version WHERE ref = {ANN}",
        f"MATCH (p:ProfileVersion) WHERE p.ref = {ANN} DETACH DELETE p",
        "of its profile, the current one, is missing|versions of profiles were written",
    ),
    "a client's newest text": (
        f"DELETE FROM profile_version WHERE ref = {ANN} AND version = 2",
        f"MATCH (p:ProfileVersion) WHERE p.ref = {ANN} AND p.version = 2 DETACH DELETE p",
        "of its profile, the current one, is missing|versions of profiles were written",
    ),
    "the body of a text": (
        f"UPDATE profile_version SET body = x'00ff' WHERE ref = {ANN} AND version = 1",
        f"MATCH (p:ProfileVersion) WHERE p.ref = {ANN} AND p.version = 1 SET p.line_texts = []",
        f"client {ANN}: version 1 of its profile cannot be read",
    ),
    "an edge": (
        "DELETE FROM edge",
        "MATCH ()-[e:ROUTES_TO]->() WITH e LIMIT 1 DELETE e",
        "2 edges that round 1 opened should be stored, 1 are",
    ),
    "an edge that ended": (
        "DELETE FROM edge_past",
        None,
        "2 edges that round 1 opened should be stored, 1 are",
    ),
    "the round of an edge": (
        "UPDATE edge SET opened = 0",
        None,
        "the edge from router 4 to client 2 is of round 0, which is not there",
    ),
    "a round": (
        "DELETE FROM round WHERE number = 1",
        None,
        "the round that the log publishes at sequence",
    ),
    "the newest round": (
        "DELETE FROM round WHERE number = 2",
        None,
        "the round that the log publishes at sequence",
    ),
    "the number of a round": (
        "UPDATE round SET number = 7 WHERE number = 2",
        None,
        "round 7 is not the round that the log publishes at sequence",
    ),
    "a message that was merged": (
        "DELETE FROM router_version WHERE version = 1",
        None,
        "client 0 merged message 1 of router 3, which is missing",
    ),
    "a list of a message": (
        "UPDATE router_version SET standing = '[' WHERE version = 1",
        None,
        "of router_version holds no list or object in standing",
    ),
    "a part of a message": (
        "DELETE FROM integrated WHERE version = 1",
        None,
        "message 1 of router 3 has lost parts of its senders",
    ),
    "a merge": ("DELETE FROM merged", None, "1 rows of merged are missing"),
    "a gradient": (
        "DELETE FROM gradient WHERE rowid = 1",
        None,
        "1 rows of gradient are missing",
    ),
    "all gradients": ("DELETE FROM gradient", None, "2 rows of gradient are missing"),
    "what was reasoned of an interaction": (
        "DELETE FROM reasoned WHERE sequence = (SELECT min(sequence) FROM reasoned)",
        None,
        "was passed by reason, but has no result",
    ),
    "two bodies, swapped": (
        f"UPDATE profile_version SET body = (SELECT body FROM profile_version o WHERE o.ref = {ANN}"
        f" AND o.version = 3 - profile_version.version) WHERE ref = {ANN}",
        None,
        f"client {ANN}: version 1 of its profile is not what was written",
    ),
    "a client's texts, which are named": (
        f"DELETE FROM profile_version WHERE ref = {ANN}",
        None,
        f"client {ANN}: version 1 of its profile is missing",
    ),
    "the kind of a client": (
        f"UPDATE client SET kind = 1 WHERE ref = {ANN}",
        None,
        f"client {ANN} is of a kind that its number does not have",
    ),
    "an entry of the log": (
        "DELETE FROM log WHERE kind = 'round'",
        None,
        "is not the round that the log",
    ),
    "a message": (
        "DELETE FROM router_version WHERE version = 2",
        "MATCH (m:Message) WHERE m.version = 2 DETACH DELETE m",
        "1 messages of round 2 should be stored, 0 are",
    ),
}


async def lived(store):
    """Ann's texts, edges, two messages that she merged, learned blocks and a checkpoint."""
    first = await recorded(store, ("u0", "i0"), ("u1", "i0"))
    await learn_all(store)
    last = await recorded(store, ("u0", "i1"))
    await learn_all(store)
    claim = await store.claim_reason("w", 9, 1_000)
    merged = MessageMerge(ref=ANN, profile_version=1, router=3, router_version=1, outcome="merged")
    await run_round(store, versions=(message(3, 1, BOB),), opened=(edge(3, ANN), edge(4, BOB)))
    await store.commit_reasoned(
        claim,
        [
            reasoned(
                first[0],
                text(ANN, 1, "likes jazz at night", cites=(3, 1)),
                merges=(merged,),
                gradients=(gradient(first[0], 3), gradient(first[0], 4)),
            ),
            reasoned(last[0], text(ANN, 2)),
        ],
    )
    await run_round(store, versions=(message(3, 2, BOB),), closed=((3, ANN),))
    lease = await store.acquire_lease("learn", "test", 10_000)
    await store.save_checkpoint(lease, checkpoint(await store.learned_through()))


async def damage(store, on_sqlite, on_neo4j):
    if isinstance(store, SqliteStore):
        await store.database.write(lambda connection: connection.execute(on_sqlite))
    else:
        shared_server().run(on_neo4j)


@pytest.mark.parametrize(("on_sqlite", "on_neo4j", "found"), DAMAGES.values(), ids=DAMAGES)
async def test_what_was_damaged_is_found(store, on_sqlite, on_neo4j, found):
    if (on_sqlite if isinstance(store, SqliteStore) else on_neo4j) is None:
        pytest.skip("this store has no rows of the kind that its tables do not protect")
    await lived(store)
    assert await store.check() == []
    await damage(store, on_sqlite, on_neo4j)
    problems = await store.check()
    assert any(words in problem for problem in problems for words in found.split("|")), problems


async def test_a_body_that_was_written_by_hand_is_found(store):
    if not isinstance(store, SqliteStore):
        pytest.skip("only this store packs its texts")
    await lived(store)
    (line,) = text(ANN, 1, "likes jazz \x1b[31m").profile.lines
    await store.database.write(
        lambda connection: connection.execute(
            "UPDATE profile_version SET body = ? WHERE ref = ? AND version = 1",
            (body_of((line,), (), BOB, 1), ANN),
        )
    )
    assert f"client {ANN}: version 1 of its profile is not what was written" in await store.check()


async def test_what_retention_and_an_erasure_delete_is_not_missing(store):
    await lived(store)
    assert await store.prune(await store.recorded_through(), 100) is not None
    while await store.prune(await store.recorded_through(), 100) is not None:
        pass
    assert await store.check() == []
    lease = await store.acquire_lease("learn", "test", 10_000)
    rows = await store.interactions_of_clients([ANN])
    await withdraw(
        store,
        lease,
        Withdrawal(kind=EntryKind.ERASURE, refs=(ANN,), interactions=rows, erased=ANN),
        checkpoint(await store.learned_through(), barrier=True),
    )
    assert await store.text_versions() == {}
    assert await store.check() == []
