"""Budgets: shared by processes through the graph, never overspent, given back; and what was spent
stays known."""

from datetime import UTC, datetime
from unittest.mock import patch

import pytest

from propagation.adapters.openai.endpoint.budget import BudgetLedger
from propagation.adapters.openai.options import BudgetOptions, OpenAIOptions
from propagation.model import LeaseLost, PromptCost, ReasonerUnavailable
from tests.unit.adapters.openai.test_server_habits import collect_answers


def make_ledger(store, holder="a", now=None, **limits):
    options = OpenAIOptions(budget=BudgetOptions(**limits), price_prompt=2.0, price_completion=10.0)
    return BudgetLedger(store, options, holder, **({"now": now} if now else {}))


async def catch_unavailable(call):
    try:
        return await call
    except ReasonerUnavailable as error:
        return error


async def spend(one, tokens, *, used=None):
    reserved = await one.reserve(tokens, 0)
    return one.settle(
        "forward@1", reserved, PromptCost(calls=1, prompt_tokens=tokens if used is None else used)
    )


async def test_replica_sync_share_a_budget_and_never_pass_it(store):
    one, other = (
        make_ledger(store, "a", tokens_per_hour=1_000),
        make_ledger(store, "b", tokens_per_hour=1_000),
    )
    found = [await catch_unavailable(spend((one, other)[turn % 2], 30)) for turn in range(100)]
    refused = [answer for answer in found if isinstance(answer, ReasonerUnavailable)]
    assert 940 <= 30 * (100 - len(refused)) <= 1_000
    assert all("tokens_per_hour of 1000" in str(error) for error in refused)


async def test_what_was_set_aside_and_not_used_is_free_again(store):
    one = make_ledger(store, tokens_per_hour=1_000)
    for _ in range(50):
        await spend(one, 500, used=10)
    await one.save(closing=True)
    other = make_ledger(store, "b", tokens_per_hour=1_000)
    await spend(other, 450)
    with pytest.raises(ReasonerUnavailable):
        await spend(other, 100)


async def test_a_new_hour_is_a_new_budget_and_a_day_goes_on(store):
    now = [datetime(2026, 3, 1, 10, 59, tzinfo=UTC)]
    one = make_ledger(store, now=lambda: now[0], tokens_per_hour=100, tokens_per_day=150)
    await spend(one, 100)
    with pytest.raises(ReasonerUnavailable, match="11:00 UTC"):
        await spend(one, 50)
    now[0] = datetime(2026, 3, 1, 11, 1, tzinfo=UTC)
    await spend(one, 50)
    with pytest.raises(ReasonerUnavailable, match="tokens_per_day"):
        await spend(one, 10)


async def test_money_is_counted_by_its_prices_and_a_run_ends_with_its_process(store):
    one = make_ledger(store, money_per_run=0.01)
    reserved = await one.reserve(1_000, 500)
    spent = PromptCost(
        calls=1, prompt_tokens=1_000, completion_tokens=500, money=one.money(1_000, 500)
    )
    usage = one.settle("forward@1", reserved, spent)
    assert usage.total.money == pytest.approx(0.007)
    with pytest.raises(ReasonerUnavailable, match="another run"):
        await one.reserve(1_000, 500)
    await make_ledger(store, "b", money_per_run=0.01).reserve(1_000, 500)


async def test_a_ledger_that_cannot_be_written_costs_no_answer_and_no_count(store, open_reasoner):
    one = make_ledger(store, tokens_per_hour=1_000)
    await spend(one, 70)
    with patch.object(store, "put_blob", side_effect=LeaseLost("taken over")):
        with pytest.raises(ReasonerUnavailable, match="took over"):
            await one.save(closing=True)
        assert one.expenses.all_runs.total.prompt_tokens == 70
    await one.save(closing=True)
    other = make_ledger(store, "b", tokens_per_hour=1_000)
    await spend(other, 30)
    await other.save(closing=True)
    assert other.expenses.all_runs.total.prompt_tokens == 100
    async with open_reasoner() as asked:
        with patch.object(
            asked.reasoner.endpoint.ledger,
            "save",
            side_effect=ReasonerUnavailable("held by another"),
        ):
            assert (await collect_answers(asked))[0].merges[0].edits


async def test_sums_by_prompt_outlive_the_process(store):
    one = make_ledger(store)
    await spend(one, 70)
    await one.save(closing=True)
    other = make_ledger(store, "b")
    await spend(other, 30)
    await other.save(closing=True)
    assert other.expenses.this_run.total.prompt_tokens == 30
    assert other.expenses.all_runs.total.prompt_tokens == 100
    assert dict(other.expenses.all_runs.by_prompt)["forward@1"].calls == 2
