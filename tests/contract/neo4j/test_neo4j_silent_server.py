"""A server that takes connections and answers nothing: noticed within neo4j.retry_seconds."""

import asyncio

import pytest

from propagation.adapters.neo4j.settings import Neo4jSettings
from propagation.adapters.neo4j.store import Neo4jStore
from propagation.model import StoreUnreachable
from tests.silent_server import silent_server

RETRY_SECONDS = 2.0


@pytest.mark.slow
async def test_it_is_noticed_within_the_limit_that_the_error_names():
    async with silent_server() as port:
        store = Neo4jStore(
            Neo4jSettings(uri=f"bolt://127.0.0.1:{port}", retry_seconds=RETRY_SECONDS)
        )
        with pytest.raises(StoreUnreachable, match=r"no answer within neo4j\.retry_seconds"):
            async with asyncio.timeout(RETRY_SECONDS):
                await store.open()
