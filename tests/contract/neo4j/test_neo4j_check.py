"""The check of the stored data finds what somebody deleted from the server, or wrote over."""

import pytest

from tests.contract.inside_cases import ANN, finds_damage
from tests.neo4j_server.shared import shared_server

pytestmark = [
    pytest.mark.neo4j,
    pytest.mark.parametrize("opened", ["neo4j"], indirect=True),
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
    "a client's texts": (
        f"MATCH (p:ProfileVersion) WHERE p.ref = {ANN} DETACH DELETE p",
        "of its profile, the current one, is missing|versions of profiles were written",
    ),
    "a client's newest text": (
        f"MATCH (p:ProfileVersion) WHERE p.ref = {ANN} AND p.version = 2 DETACH DELETE p",
        "of its profile, the current one, is missing|versions of profiles were written",
    ),
    "the body of a text": (
        f"MATCH (p:ProfileVersion) WHERE p.ref = {ANN} AND p.version = 1 SET p.line_texts = []",
        f"client {ANN}: version 1 of its profile cannot be read",
    ),
    "the weights of a text's lines": (
        f"MATCH (p:ProfileVersion) WHERE p.ref = {ANN} AND p.version = 1"
        " SET p.line_weights = ['abc']",
        f"client {ANN}: version 1 of its profile cannot be read",
    ),
    "the lines of a text's attributes": (
        f"MATCH (p:ProfileVersion) WHERE p.ref = {ANN} AND p.version = 1"
        " SET p.attribute_lines = [999]",
        f"client {ANN}: version 1 of its profile cannot be read",
    ),
    "the rules of a text": (
        f"MATCH (p:ProfileVersion) WHERE p.ref = {ANN} AND p.version = 1"
        " SET p.rules = '[{garbage}]'",
        f"client {ANN}: version 1 of its profile cannot be read",
    ),
    "an edge": (
        "MATCH ()-[e:ROUTES_TO]->() WITH e LIMIT 1 DELETE e",
        "2 edges that round 1 opened should be stored, 1 are",
    ),
    "a message": (
        "MATCH (m:Message) WHERE m.version = 2 DETACH DELETE m",
        "1 messages of round 2 should be stored, 0 are",
    ),
}


@pytest.mark.parametrize(("statement", "found"), DAMAGES.values(), ids=DAMAGES)
async def test_what_was_damaged_is_found(store, statement, found):
    async def damage():
        shared_server().run(statement)

    await finds_damage(store, damage, found)
