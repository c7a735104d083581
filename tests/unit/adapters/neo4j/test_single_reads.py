"""A single statement that reads: at once, and in a transaction if the server asks for another try.

The server's errors are scripted: a real one deadlocks two reads hardly ever.
"""

from contextlib import asynccontextmanager

import pytest
from neo4j.exceptions import ClientError, ServiceUnavailable, TransientError

from propagation.adapters.neo4j.connection import Neo4jDatabase, load_statements
from propagation.adapters.neo4j.connection.errors import ENTITY_NOT_FOUND
from propagation.adapters.neo4j.settings import Neo4jSettings
from propagation.model import StoreUnreachable

STATEMENT = "reason/texts/text_versions"
DELETED, TIMED_OUT = ClientError("gone"), ClientError("too slow")
DELETED._neo4j_code = ENTITY_NOT_FOUND
TIMED_OUT._neo4j_code = "Neo.ClientError.Transaction.TransactionTimedOut"


class Result:
    async def values(self):
        return [[[[0, 7]]]]


class Session:
    """Answers the first statement with the next outcome, and those of a transaction always."""

    def __init__(self, outcomes, tries):
        self.outcomes, self.tries = outcomes, tries

    async def run(self, query, parameters):
        self.tries.append("at once")
        if (outcome := next(self.outcomes)) is not None:
            raise outcome
        return Result()

    async def execute_read(self, work):
        return await work(self.Transaction(self.tries))

    class Transaction:
        def __init__(self, tries):
            self.tries = tries

        async def run(self, query, parameters):
            self.tries.append("in a transaction")
            return Result()


class Driver:
    def __init__(self, outcomes):
        self.outcomes, self.tries = iter(outcomes), []

    @asynccontextmanager
    async def session(self, **_):
        yield Session(self.outcomes, self.tries)


class Limits:
    @asynccontextmanager
    async def limit(self, seconds):
        yield


@pytest.fixture
def open_database():
    def open_one(*outcomes):
        database = Neo4jDatabase(Neo4jSettings(uri="bolt://127.0.0.1:1"), load_statements())
        database._driver, database._probe = Driver(outcomes), Limits()
        return database, database._driver.tries

    return open_one


async def test_a_read_takes_one_exchange(open_database):
    database, tries = open_database(None)
    assert await database.table(STATEMENT, refs=[0]) == [[0, 7]]
    assert tries == ["at once"]
    assert (database.sent, sum(database.retries.values())) == (1, 0)


@pytest.mark.parametrize(
    ("error", "counted"),
    [(TransientError("deadlock"), 1), (DELETED, 1), (ServiceUnavailable("down"), 0)],
)
async def test_what_may_be_tried_again_is_tried_in_a_transaction(open_database, error, counted):
    """It counts as repeated if the server had answered."""
    database, tries = open_database(error)
    assert await database.table(STATEMENT, refs=[0]) == [[0, 7]]
    assert tries == ["at once", "in a transaction"]
    assert sum(database.retries.values()) == counted


async def test_another_error_is_the_callers(open_database):
    database, tries = open_database(TIMED_OUT)
    with pytest.raises(StoreUnreachable, match="answer_seconds"):
        await database.table(STATEMENT, refs=[0])
    assert tries == ["at once"]
