"""The check of the stored data finds what somebody deleted from the server, or wrote over."""

import pytest

from propagation.model import ClientChange, ClientKey, ClientKind, StoreCorrupt
from tests.contract.graph_store import event, record_pairs
from tests.contract.inside_cases import ANN, UPSERTS, assert_damage_is_found, fill_store
from tests.neo4j_server.shared import get_shared_server

pytestmark = [
    pytest.mark.neo4j,
    pytest.mark.parametrize("reopen", ["neo4j"], indirect=True),
]
DAMAGES = {
    "the last learned block, which a checkpoint covers": (
        "MATCH (b:LearnedBlock) WITH b ORDER BY b.through DESC LIMIT 1 DELETE b",
        "learned blocks end at",
    ),
    "a learned block between others": (
        "MATCH (b:LearnedBlock) WITH b ORDER BY b.through LIMIT 1 DELETE b",
        "does not start where the one before it ends",
    ),
    "a client's search words": (
        f"MATCH (c:Client {{ref: {ANN}}}) REMOVE c.words",
        f"client {ANN} lacks 1 search words of its texts, and has 0 others",
    ),
    "search words that a client no longer has": (
        f"MATCH (c:Client {{ref: {ANN}}}) SET c.words = c.words + ' gone'",
        f"client {ANN} lacks 0 search words of its texts, and has 1 others",
    ),
    "a client's texts": (
        f"MATCH (p:ProfileVersion) WHERE p.ref = {ANN} DETACH DELETE p",
        "of its profile, the current one, is missing|versions of profiles were written",
    ),
    "a client's newest text": (
        f"MATCH (p:ProfileVersion) WHERE p.ref = {ANN} AND p.version = 2 DETACH DELETE p",
        "of its profile, the current one, is missing|versions of profiles were written",
    ),
    "the body of an earlier text": (
        f"MATCH (p:ProfileVersion) WHERE p.ref = {ANN} AND p.version = 1 REMOVE p.body",
        f"client {ANN}: version 1 of its profile has lost its lines and rules",
    ),
    "the body of the current text": (
        f"MATCH (p:ProfileVersion) WHERE p.ref = {ANN} AND p.version = 2 SET p.body = 'abc'",
        f"client {ANN}: version 2 of its profile cannot be read",
    ),
    "a body that another version has": (
        f"MATCH (p:ProfileVersion), (q:ProfileVersion) WHERE p.ref = {ANN} AND p.version = 1"
        f" AND q.ref = {ANN} AND q.version = 2 SET p.body = q.body",
        f"client {ANN}: version 1 of its profile is not what was written",
    ),
    "a client's lines": (
        f"MATCH (:Client {{ref: {ANN}}})-[:SAYS]->(l:Line) DETACH DELETE l",
        f"client {ANN}: its lines are not those of its profile",
    ),
    "the words of a line": (
        f"MATCH (:Client {{ref: {ANN}}})-[:SAYS]->(l:Line) SET l.text = 'other words'",
        f"client {ANN}: its lines are not those of its profile",
    ),
    "the factor of a rule": (
        f"MATCH (:Client {{ref: {ANN}}})-[:FILTERS_BY]->(r:FilterRule) SET r.factor = 'abc'",
        f"client {ANN}: its filter rules are not those of its profile",
    ),
    "the owner of lines": (
        f"MATCH (:Client {{ref: {ANN}}})-[s:SAYS]->(:Line) DELETE s",
        f"lines or filter rules of client {ANN} are not connected to it",
    ),
    "all texts and the number of a client": (
        f"MATCH (c:Client {{ref: {ANN}}})-[:HAS]->(p) SET c.version = 0 DETACH DELETE p",
        "2 versions of profiles that were written are missing",
    ),
    "a merge": ("MATCH ()-[m:MERGED_INTO]->() DELETE m", "1 merges are missing"),
    "the senders of messages": (
        "MATCH ()-[s:SENT]->() DELETE s",
        "message 1 of router 3 is not connected to its router",
    ),
    "an edge": (
        "MATCH ()-[e:ROUTES_TO]->() WITH e LIMIT 1 DELETE e",
        "of 2 edges that round 1 opened, 1 are stored",
    ),
    "a round": (
        "MATCH (d:Round) WHERE d.number = 2 DELETE d",
        "of the log published is missing: round 2",
    ),
    "the text of a message": (
        "MATCH (m:Message) WHERE m.version = 2 REMOVE m.text",
        "message 2 of router 3 has lost a property, such as its text",
    ),
    "the item of an interaction": (
        "MATCH (i:Interaction) WITH i ORDER BY i.sequence LIMIT 1 SET i.item = i.item + 2",
        "names user 0, item 3 and negative none, but its relationships differ",
    ),
    "the seed of an event": (
        "MATCH (i:Interaction {sequence: 2}) SET i.seed = i.seed + 1",
        "the seed of interaction 2 is not that of its event id",
    ),
    "the id of an event": (
        "MATCH (i:Interaction {sequence: 2}) SET i.event_id = i.event_id + 'x'",
        "the seed of interaction 2 is not that of its event id",
    ),
    "a client that an entry of the log names": (
        "MATCH (e:LogEntry {sequence: 1}) SET e.refs = []",
        f"entry 1 of the log does not name client {ANN}, whose content it wrote",
    ),
    "the gradients of an interaction": (
        "MATCH (:Interaction)-[g:GAVE]->() DELETE g",
        "a gradient of interaction 2 is not connected to it",
    ),
    "a message": (
        "MATCH (m:Message) WHERE m.version = 2 DETACH DELETE m",
        "of 1 messages of round 2, 0 are stored",
    ),
}


@pytest.mark.parametrize(("statement", "found"), DAMAGES.values(), ids=DAMAGES)
async def test_what_was_damaged_is_found(store, statement, found):
    async def damage():
        get_shared_server().run(statement)

    await assert_damage_is_found(store, damage, found)


@pytest.mark.parametrize(
    ("statement", "negative"),
    [
        ("MATCH ()-[a:AGAINST]->() DELETE a", "3"),
        ("MATCH (i:Interaction)-[:AGAINST]->() REMOVE i.negative", "none"),
        ("MATCH (i:Interaction)-[:AGAINST]->() SET i.negative = 1", "1"),
        ("MATCH (i)-[:AGAINST]->(c) CREATE (i)-[:AGAINST]->(c)", "3"),
    ],
    ids=["no relationship", "no number", "another number", "two relationships"],
)
async def test_a_negative_whose_relationship_differs_is_found(store, statement, negative):
    """An erasure clears the negatives that it reaches by this relationship."""
    await record_pairs(store, ("u0", "i0"), ("u0", "i1"))
    answer = await store.record([event("e1", "u0", "i0", negative_id="i1")], auto_create=True)
    sequence = answer.outcomes[0].sequence
    assert await store.check() == []
    get_shared_server().run(statement)
    assert await store.check() == [
        f"interaction {sequence} names user {ANN}, item 1 and negative {negative}, but its"
        " relationships differ"
    ]


async def test_a_message_without_its_text_is_not_read(store):
    await fill_store(store)
    get_shared_server().run("MATCH (m:Message) WHERE m.version = 2 REMOVE m.text")
    with pytest.raises(StoreCorrupt, match="message 2 of router 3 has lost a property"):
        await store.get_messages([(3, 2)], 1)


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("damage", ["body = null", "body = 'abc'"])
async def test_a_damaged_text_is_not_read(store, damage, version):
    await fill_store(store)
    get_shared_server().run(
        f"MATCH (p:ProfileVersion) WHERE p.ref = {ANN} AND p.version = {version} SET p.{damage}"
    )
    with pytest.raises(StoreCorrupt, match=f"client {ANN}: version {version} of its profile"):
        await store.get_texts_of_versions([(ANN, version)])
    if version == 2:
        with pytest.raises(StoreCorrupt, match=f"client {ANN}: version 2 of its profile"):
            await store.load_texts([ANN])


async def test_the_earlier_content_of_a_client_is_missed(store):
    """A client whose content changed has two entries of the log, and a node of the first."""
    await fill_store(store)
    key = ClientKey(ClientKind.USER, "u0")
    await store.upsert_clients([ClientChange(key=key, title="Ann")])
    assert await store.check() == []
    get_shared_server().run("MATCH (b:ClientBefore) DETACH DELETE b")
    assert await store.check() == [
        f"entry 1 of the log wrote a content of client {ANN}, which is missing"
    ]


@pytest.mark.parametrize("said", UPSERTS)
async def test_a_client_that_an_upsert_named_is_not_marked_as_one_of_events(store, said):
    await store.record([event("e1", "new", "red")], auto_create=True)
    assert await store.check() == []
    key = ClientKey(ClientKind.USER, "new")
    (changed,) = await store.upsert_clients([ClientChange(key=key, **said)])
    assert await store.check() == []
    get_shared_server().run("MATCH (c:Client) SET c.only_in_events = true")
    assert (
        f"client {changed.ref} was named by an upsert, but is marked as one that only events named"
        in await store.check()
    )
