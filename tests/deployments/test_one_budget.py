"""One budget of several real processes: what they spend together, counted at the server, never
passes it."""

import asyncio
import json
import sys

import pytest

from propagation.adapters.neo4j.store import Neo4jStore
from services.fake_llm.script import Script
from services.fake_llm.server import fake_llm
from tests.deployments.spender import ANSWER_TOKENS, ASKED
from tests.neo4j_server.shared import get_server

BUDGET = 6_000
A_CALL = len(ASKED[0]["content"]) // 4 + ANSWER_TOKENS + 5
GRANT = BUDGET // 20


async def start_spender(server, **store):
    order = json.dumps({"base_url": server.base_url, "budget": BUDGET, **store})
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.deployments.spender", order, stdout=asyncio.subprocess.PIPE
    )


async def read_spent_tokens(process):
    out, _ = await asyncio.wait_for(process.communicate(), 60)
    assert process.returncode == 0
    return int(out)


def count_tokens(server):
    return server.seen.prompt_tokens.total() + server.seen.completion_tokens.total()


@pytest.mark.neo4j
async def test_two_at_once_share_it_and_never_pass_it(tmp_path):
    settings = get_server(tmp_path).settings
    store = Neo4jStore(settings)
    await store.open()
    await store.close()
    plain = {**settings.model_dump(mode="json"), "password": settings.password.get_secret_value()}
    async with fake_llm(Script(latency=0.03)) as server:
        both = [await start_spender(server, neo4j=plain) for _ in range(2)]
        spent = [await read_spent_tokens(process) for process in both]
        assert min(spent) > GRANT, "both took part"
        assert sum(spent) == count_tokens(server)
        assert BUDGET - 2 * A_CALL <= count_tokens(server) <= BUDGET
        assert await read_spent_tokens(await start_spender(server, neo4j=plain)) <= A_CALL, (
            "a third finds nothing left"
        )
        assert count_tokens(server) <= BUDGET


@pytest.mark.slow
async def test_what_a_killed_one_held_counts_as_spent(tmp_path):
    async with fake_llm(Script(latency=0.01)) as server:
        killed = await start_spender(server, sqlite=str(tmp_path / "graph.db"))
        while count_tokens(server) < BUDGET / 3:  # noqa: ASYNC110 - another process goes on meanwhile
            await asyncio.sleep(0.01)
        killed.kill()
        await killed.wait()
        await asyncio.sleep(0.1)  # what it asked last is counted when it is answered
        before = count_tokens(server)
        rest = await read_spent_tokens(
            await start_spender(server, sqlite=str(tmp_path / "graph.db"))
        )
        assert count_tokens(server) == before + rest
        assert BUDGET - GRANT - 2 * A_CALL * 4 <= count_tokens(server) <= BUDGET
