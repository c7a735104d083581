"""A process that asks a model until its budget is spent.

Run `python -m tests.deployments.spender '{...}'`. It prints the number of tokens that it spent.
"""

import asyncio
import json
import sys
from pathlib import Path

from propagation.adapters.neo4j.settings import Neo4jSettings
from propagation.adapters.neo4j.store import Neo4jStore
from propagation.adapters.openai.endpoint.endpoint import create_openai_endpoint
from propagation.adapters.openai.options import OpenAIOptions
from propagation.adapters.sqlite.store import SqliteStore
from propagation.model import ReasonerUnavailable
from services.runtime.process import SystemClock, process_name

ASKED = [{"role": "user", "content": "Say one word. " * 30}]
ANSWER_TOKENS = 20
SIDE_BY_SIDE = 4


async def spend_until_refused(order):
    """Ask the model until the budget refuses a call.

    Args:
        order: "base_url", "budget" (tokens a day), and "neo4j" (settings) or "sqlite" (a path).

    Returns:
        The spent tokens, as the server counted them.
    """
    store = (
        Neo4jStore(Neo4jSettings(**order["neo4j"]))
        if "neo4j" in order
        else SqliteStore(Path(order["sqlite"]), SystemClock())
    )
    await store.open()
    options = OpenAIOptions(
        base_url=order["base_url"], model="scripted", budget={"tokens_per_day": order["budget"]}
    )
    endpoint = create_openai_endpoint(options, None, store, process_name())

    async def ask():
        while True:
            await endpoint.chat("forward@1", ASKED, ANSWER_TOKENS)

    for ended in await asyncio.gather(
        *(ask() for _ in range(SIDE_BY_SIDE)), return_exceptions=True
    ):
        if not (isinstance(ended, ReasonerUnavailable) and "tokens_per_day" in str(ended)):
            raise ended
    total = endpoint.ledger.expenses.this_run.total
    await endpoint.client.close()
    await endpoint.ledger.save(closing=True)
    await store.close()
    return total.prompt_tokens + total.completion_tokens


if __name__ == "__main__":
    print(asyncio.run(spend_until_refused(json.loads(sys.argv[1]))))
