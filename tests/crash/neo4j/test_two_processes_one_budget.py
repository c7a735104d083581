"""Two services as processes of their own on one Neo4j, both asking a language model out of one
budget: together they spend it, and never more, and what then waits is reasoned by neither while
both still answer."""

import asyncio
import contextlib

import pytest

from propagation.v1 import propagation_pb2 as pb
from services.fake_llm.script import Script
from services.fake_llm.server import fake_llm
from tests.crash.neo4j.services_on_neo4j import SECONDS, start_service
from tests.neo4j_server.shared import get_server
from tests.waiting import wait_until

pytestmark = [pytest.mark.neo4j, pytest.mark.slow]
TOKENS, EVENTS, USERS, QUIET_SECONDS = 90_000, 300, 12, 3.0
STYLES = ("opera", "jazz", "folk", "dub")
TOLD = (
    "reasoner=openai",
    "openai.model=scripted",
    "openai.in_flight=3",
    f"openai.budget.tokens_per_day={TOKENS}",
)


async def wait_until_quiet(usage):
    """Wait until the model has had no call for a while."""
    calls = -1
    while calls != usage.calls.total():
        calls = usage.calls.total()
        await asyncio.sleep(QUIET_SECONDS)


async def count_calls(service):
    status = await service.stub.GetStatus(pb.GetStatusRequest())
    return sum(prompt.calls for prompt in status.spending.prompts), status


async def test_both_spend_and_together_never_more_than_there_is(tmp_path):
    server = get_server(tmp_path)
    async with fake_llm(Script(latency=0.02)) as endpoint, contextlib.AsyncExitStack() as stack:
        services = await asyncio.gather(
            *(
                stack.enter_async_context(
                    start_service(
                        tmp_path,
                        server.settings,
                        f"service-{n}",
                        *TOLD,
                        f"openai.base_url={endpoint.base_url}",
                    )
                )
                for n in range(2)
            )
        )
        events = [
            pb.Interaction(event_id=f"e{n}", user_id=f"u{n % USERS}", item_id=f"i{n}")
            for n in range(EVENTS)
        ]
        await services[0].stub.UpsertClients(
            pb.UpsertClientsRequest(
                clients=[
                    pb.Client(
                        key=pb.ClientKey(kind=pb.CLIENT_KIND_ITEM, id=f"i{n}"),
                        title=f"Record {n}",
                        attributes=[STYLES[n % 4]],
                    )
                    for n in range(EVENTS)
                ]
            )
        )
        await asyncio.gather(
            *(
                service.stub.RecordInteractions(
                    pb.RecordInteractionsRequest(interactions=events[n::2])
                )
                for n, service in enumerate(services)
            )
        )

        async def is_stopped():
            """What waits for its budget says so."""
            found = [(await count_calls(service))[1].failing.values() for service in services]
            return any("tokens_per_day" in reason for reasons in found for reason in reasons)

        await wait_until(is_stopped, SECONDS, pause=0.2)
        await wait_until_quiet(endpoint.seen)
        spent = endpoint.seen.prompt_tokens.total() + endpoint.seen.completion_tokens.total()
        assert 0.7 * TOKENS < spent <= TOKENS
        for service in services:
            calls, status = await count_calls(service)
            assert calls, "each of them asked"
            assert status.learned_through == status.recorded_through
            assert status.reason_lag > 0
            (budget,) = [budget for budget in status.budgets if budget.name == "tokens_per_day"]
            assert (budget.limit, budget.used <= TOKENS) == (TOKENS, True)
