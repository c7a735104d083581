"""Who stands in for a model that failed, where a setting says so; what it wrote is marked, and
shown to those who trace it."""

from dataclasses import replace

import pytest

from propagation.adapters.fallback.prediction import DelegatedPrediction
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
from tests.unit.parties import POSITIVE, USER, item, message, user, work

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
        answers = await ask_both(with_fallback(asked))
        for answer in answers:
            assert answer.usage.fallback == ""
            assert len(answer.usage.prompts) == 1
        assert answers[0].predicted_by == ""


async def test_what_a_fallback_answered_is_marked_and_what_the_model_cost_is_kept(open_reasoner):
    async with open_reasoner(faults={"refusal": 1.0}) as asked:
        forward, backward = await ask_both(with_fallback(asked))
        assert forward.prediction is True, "by the scores, as the offline reasoner predicts"
        assert forward.predicted_by == OFFLINE
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


@pytest.mark.parametrize("fused", [True, False])
async def test_a_prediction_that_is_left_to_another_is_not_asked_of_the_model(open_reasoner, fused):
    heard = message(1, "soul")
    reader, positive, negative = parties()
    async with open_reasoner(predict="offline", fused=fused) as asked:
        reasoner = DelegatedPrediction(asked.reasoner, OfflineReasoner())
        assert (reasoner.name, reasoner.predictor) == (asked.reasoner.name, OFFLINE)
        for scores, chosen in (((0.7, 0.2), True), ((0.2, 0.7), False)):
            silent = await reasoner.forward(  # type: ignore[call-arg]
                work(), *without_messages(reader, positive, negative), scores
            )
            assert (silent.prediction, silent.predicted_by) == (chosen, OFFLINE)
        assert asked.calls == 0, "nobody heard anything, so there is nothing to ask"
        listening = replace(reader, messages=(heard,))
        answer = await reasoner.forward(  # type: ignore[call-arg]
            work(), *without_messages(listening, positive, negative, user=listening), (0.7, 0.2)
        )
        assert (answer.prediction, answer.usage.fallback) == (True, "")
        assert answer.merges[0].outcomes, "the model merged"
        assert asked.calls == 1
        assert "which of the two candidates" not in asked.server.seen.prompts[-1]
        alone = await reasoner.forward(work(), listening, [positive], None)
        assert (alone.prediction, alone.predicted_by) == (None, "")


async def test_merges_that_all_failed_do_not_stop_a_delegated_prediction(open_reasoner):
    async with open_reasoner(faults={"refusal": 1.0}, predict="offline") as asked:
        reasoner = DelegatedPrediction(asked.reasoner, OfflineReasoner())
        reader, positive, negative = parties()
        answer = await reasoner.forward(work(), reader, [positive, negative], (0.7, 0.2))
        assert (answer.prediction, answer.predicted_by) == (True, OFFLINE)
        heard = [bool(party.messages) for party in (reader, positive, negative)]
        assert [isinstance(one, ReasonerFailed) for one in answer.merges] == heard
        assert any(heard)
        assert answer.usage.total.losses == {"refusal": sum(heard)}


def without_messages(reader, *candidates, user=None):
    return user or replace(reader, messages=()), [replace(one, messages=()) for one in candidates]


async def test_a_fallback_beside_a_delegated_prediction_keeps_its_mark(open_reasoner):
    async with open_reasoner(faults={"refusal": 1.0}, predict="offline") as asked:
        reasoner = DelegatedPrediction(with_fallback(asked), OfflineReasoner())
        forward, backward = await ask_both(reasoner)
        assert (forward.prediction, forward.predicted_by) == (True, OFFLINE)
        assert backward.usage.fallback == OFFLINE


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
        {},
    )
    [hop] = path_to_proto((event,), facts).hops
    assert hop.text.endswith(f"Kind of Blue\N{RIGHT DOUBLE QUOTATION MARK}{said}")
    assert (tuple(hop.interaction.prompts), hop.interaction.fallback) == (prompts, fallback)
