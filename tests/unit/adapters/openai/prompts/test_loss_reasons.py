"""Every part that is lost has a reason, counted with its prompt and kept in the ledger."""

import pytest

from propagation.adapters.openai.answer_json import Fault, ParsedAnswer
from propagation.adapters.openai.prompting import TextCheck, check_part
from propagation.adapters.openai.prompting.prompt import LOSSES
from propagation.adapters.openai.prompts import predict
from propagation.loss_reasons import SENTENCES
from propagation.model import (
    Client,
    ClientKey,
    ClientKind,
    LossReason,
    PromptCost,
    ReasonerFailed,
    Usage,
    describe_loss,
)
from services.fake_llm import server
from tests.unit.adapters.openai.prompts.test_degenerate_text import ASKED
from tests.unit.adapters.openai.test_server_habits import parties
from tests.unit.parties import work


def test_each_reason_has_a_sentence_and_each_fault_a_reason():
    assert set(SENTENCES) == set(LossReason)
    assert set(LOSSES) == set(Fault)
    for reason in LossReason:
        assert describe_loss(reason.value).endswith(".")
    assert describe_loss("of another release") == ""


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (ParsedAnswer({}), LossReason.MISSING),
        (ParsedAnswer({}, Fault.TRUNCATED), LossReason.CUT),
        (ParsedAnswer({}, Fault.REFUSED), LossReason.REFUSAL),
        (ParsedAnswer({"prediction": {"choice": 7}}), LossReason.INVALID),
        (ParsedAnswer({"prediction": {"choice": "both 1 and 2"}}), LossReason.INVALID),
    ],
)
def test_a_part_says_why_it_is_lost(answer, reason):
    found = check_part(answer, "prediction", predict.CHOICE, TextCheck(ASKED))
    assert list(found.reasons) == [reason]


async def test_a_question_without_any_usable_part_counts_all_of_them(open_reasoner):
    async with open_reasoner(faults={"refusal": 1.0}) as asked:
        reader, positive, negative = parties()
        with pytest.raises(ReasonerFailed) as failed:
            await asked.reasoner.backward(work(), 1, reader, positive, negative)
        [(_, cost)] = failed.value.usage.by_prompt
        assert cost.lost == cost.losses["refusal"] >= 3
        assert cost.refused["refusal"] == cost.parts == 2 * cost.lost
        assert asked.reasoner.expenses.this_run.total.losses == cost.losses


def client(row):
    return Client(
        ref=2 * row + 1, key=ClientKey(kind=ClientKind.ITEM, id=f"i{row}"), title=f"Record {row}"
    )


@pytest.mark.parametrize("options", [{}, {"clients_a_call": 1}, {"context_tokens": 1_024}])
async def test_each_description_that_failed_is_counted_once(open_reasoner, options):
    async with open_reasoner(faults={"refusal": 1.0}, **options) as asked:
        answer = await asked.reasoner.extract([client(n) for n in range(5)])
        total = answer.usage.total
        assert total.lost == 5
        assert total.losses == {"refusal": 5}
        assert asked.reasoner.expenses.this_run.total.losses == total.losses


async def test_a_part_that_was_mended_is_refused_once_and_not_lost(open_reasoner, monkeypatch):
    right = server.write_scripted_answer
    spoilt = []

    def loop_at_first(messages, response_format, *, obeying):
        answer = right(messages, response_format, obeying=obeying)
        if "user" in answer and not spoilt:
            spoilt.append(True)
            answer["user"]["edits"][0]["text"] = "soul soul soul soul soul"
        return answer

    monkeypatch.setattr(server, "write_scripted_answer", loop_at_first)
    async with open_reasoner() as asked:
        reader, positive, negative = parties()
        answer = await asked.reasoner.backward(work(), 1, reader, positive, negative)
        total = answer.usage.total
        assert (total.lost, total.losses, total.refused) == (0, {}, {"repetition": 1})
        assert total.calls == 2
        await asked.reasoner.endpoint.ledger.save(closing=True)
        ledger = asked.reasoner.endpoint.ledger
        assert ledger.expenses.all_runs.total.refused == {"repetition": 1}


def test_counts_by_reason_add_up():
    one = Usage((("a@1", PromptCost(lost=1, losses={"echo": 1}, parts=3, refused={"echo": 2})),))
    two = Usage((("b@1", PromptCost(lost=2, losses={"echo": 1, "cut": 1}, parts=4)),))
    total = (one + two + one).total
    assert (total.lost, total.parts) == (4, 10)
    assert total.losses == {"echo": 3, "cut": 1}
    assert total.refused == {"echo": 4}
    assert total.lost == sum(total.losses.values())
