"""Who stands in for a model that failed, where a setting says so; what it wrote is marked, and
shown to those who trace it."""

import pytest

from propagation.adapters.fallback.reasoner import FallbackReasoner
from propagation.adapters.offline.extract import extract_lines
from propagation.adapters.offline.reasoner import OfflineReasoner
from propagation.model import (
    Client,
    ClientKey,
    ClientKind,
    InteractionRow,
    ReasonerFailed,
    ReasonerUnavailable,
)
from propagation.ports import ExtractAnswer
from services.grpc.handlers.trace_propagation import path_to_proto
from services.grpc.visibility import References
from services.security.roles import Caller, Role
from tests.unit.adapters.openai.test_server_habits import parties
from tests.unit.parties import POSITIVE, USER, item, user, work

OFFLINE = OfflineReasoner().name


def client(row, title):
    return Client(ref=2 * row + 1, key=ClientKey(kind=ClientKind.ITEM, id=f"i{row}"), title=title)


def with_fallback(asked, *, unavailable=False):
    return FallbackReasoner(asked.reasoner, OfflineReasoner(), unavailable=unavailable)


async def ask_both(reasoner):
    reader, positive, negative = parties()
    return (
        await reasoner.forward(work(), reader, [positive, negative], (0.7, 0.2)),
        await reasoner.backward(work(), 1, reader, positive, negative),
    )


async def test_where_the_model_answers_nobody_stands_in(open_reasoner):
    async with open_reasoner() as asked:
        for answer in await ask_both(with_fallback(asked)):
            assert answer.usage.fallback == ""
            assert len(answer.usage.prompts) == 1


async def test_what_a_fallback_answered_is_marked_and_what_the_model_cost_is_kept(open_reasoner):
    async with open_reasoner(faults={"refusal": 1.0}) as asked:
        forward, backward = await ask_both(with_fallback(asked))
        assert forward.prediction is True, "by the scores, as the offline reasoner predicts"
        for answer in (forward, backward):
            assert answer.usage.fallback == OFFLINE
            assert answer.usage.total.calls == 2


async def test_for_an_endpoint_that_is_down_only_where_it_is_told(open_reasoner):
    async with open_reasoner(faults={"500": 1.0}, attempts=1) as asked:
        with pytest.raises(ReasonerUnavailable):
            await ask_both(with_fallback(asked))
        forward, _ = await ask_both(with_fallback(asked, unavailable=True))
        assert forward.usage.fallback == OFFLINE


async def test_first_texts_that_all_failed_are_those_of_the_catalogue(open_reasoner):
    clients = [client(row, f"Record {row}") for row in range(3)]
    async with open_reasoner(faults={"refusal": 1.0}) as asked:
        answer = await with_fallback(asked).extract(clients)
        assert list(answer.edits) == [extract_lines(one) for one in clients]
        assert answer.from_catalogue == {one.ref for one in clients}
        assert answer.usage.author == "", "no answer of the prompt was used"
        assert answer.usage.total.calls == 2


class FirstOnly(OfflineReasoner):
    async def extract(self, clients):
        answer = await super().extract(clients[:1])
        return ExtractAnswer([*answer.edits, *(ReasonerFailed("no") for _ in clients[1:])])


async def test_first_texts_that_failed_beside_others_wait_for_the_next_question():
    reasoner = FallbackReasoner(FirstOnly(), OfflineReasoner(), unavailable=False)
    both = [client(row, f"Record {row}") for row in range(2)]
    answer = await reasoner.extract(both)
    assert answer.edits[0]
    assert isinstance(answer.edits[1], ReasonerFailed)
    assert answer.usage.fallback == "", "what the first one wrote is its own"


@pytest.mark.parametrize(
    ("prompts", "fallback", "said"),
    [
        ((), "", ""),
        (("forward@1", "backward@1"), "", " (written by forward@1, backward@1)"),
        (("forward@1",), OFFLINE, f" (written by the fallback {OFFLINE})"),
    ],
)
def test_a_trace_says_what_wrote(prompts, fallback, said):
    event = InteractionRow(
        sequence=3,
        event_id="e",
        user=USER,
        item=POSITIVE,
        negative=None,
        time=0,
        weight=1.0,
        prompts=prompts,
        fallback=fallback,
    )
    clients = {one.ref: one for one in (user(), item())}
    facts = References(
        Caller.of_token("t", [Role.PERSONS]),
        2,
        frozenset(),
        {ref: one.key for ref, one in clients.items()},
        {ref: one.title for ref, one in clients.items()},
        {3: event},
        {},
        frozenset({USER}),
    )
    [hop] = path_to_proto((event,), facts).hops
    assert hop.text.endswith(f"Kind of Blue\N{RIGHT DOUBLE QUOTATION MARK}{said}")
    assert (tuple(hop.interaction.prompts), hop.interaction.fallback) == (prompts, fallback)
