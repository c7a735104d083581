"""Servers differ (docs/llm.md): whatever the habit, the same answers, and no call more than it
must."""

import asyncio
from dataclasses import replace
from unittest.mock import patch

import pytest

from propagation.adapters.openai.answers.json_mode import LOOK_SECONDS, Mode
from propagation.model import AddLine, Author, ReasonerGaveUp, ReasonerUnavailable
from propagation.ports import Integration
from services.fake_llm.rule import read_data
from services.fake_llm.script import Refused
from tests.unit.parties import NEGATIVE, item, line, message, party, user, work

TOLD = message(3, "soul", text="A community for soul and funk")
SAME = (
    "schema_ignored",
    "schema_500",
    "json_only",
    "format_422",
    "temperature_400",
    "max_tokens_400",
    "think",
    "think_open",
    "fences",
    "prose",
    "no_usage",
    "no_finish",
    "raw_newlines",
    "surrogates",
    "no_models",
    "body_string",
    "body_detail",
)


def parties():
    return (
        party(user(), line(1, "jazz", text="Likes jazz trumpet"), messages=(TOLD,)),
        party(item(), line(1, "jazz", text="A record of jazz trumpet")),
        party(item(NEGATIVE, "Tosca", ("opera",)), line(1, "opera", text="Opera by Puccini")),
    )


async def collect_answers(asked):
    reader, positive, negative = parties()
    forward = await asked.reasoner.forward(work(), reader, [negative, positive], None)
    backward = await asked.reasoner.backward(work(), 1, reader, positive, negative)
    return forward, backward


@pytest.mark.parametrize(
    "habit",
    [(), *[(one,) for one in SAME], ("think", "fences", "prose", "format_422", "temperature_400")],
)
async def test_the_rule_comes_through_whatever_the_habit(open_reasoner, habit):
    async with open_reasoner(habits=habit) as asked:
        forward, backward = await collect_answers(asked)
        [edit] = forward.merges[0].edits
        assert isinstance(edit, AddLine), "a line is added"
        assert (edit.line.attributes, edit.line.author) == (("soul", "funk"), Author.RECEPTION), (
            "with its attributes and author"
        )
        assert [(source.router, source.version) for source in edit.line.sources] == [(3, 1)], (
            "and its source"
        )
        assert forward.merges[0].outcomes == {(3, 1): "merged"}, "the message counts as merged"
        assert forward.prediction is False, "the second one shown shares its words"
        assert [len(part.edits) for part in backward.clients] == [1, 1, 0], (
            "each client's edits are read"
        )
        assert {rule.router for rule in backward.clients[0].rules} == {3}, "and its rules"
        assert all(
            "\x00" not in edit.line.text and "\ud800" not in edit.line.text
            for edit in backward.clients[0].edits
        ), "characters that break stores are replaced"
        assert asked.calls <= 2 + bool(habit), "at most one more call"


@pytest.mark.parametrize(
    ("habit", "mode"),
    [
        ((), Mode.BOUNDED),
        (("schema_ignored",), Mode.BOUNDED),
        (("schema_500",), Mode.JSON),
        (("json_only",), Mode.JSON),
        (("format_422",), Mode.PLAIN),
    ],
)
async def test_what_a_server_can_is_found_out_once_and_remembered(open_reasoner, habit, mode):
    async with open_reasoner(habits=habit) as asked:
        await collect_answers(asked)
        probes = asked.server.seen.calls["probe"]
        assert (
            await asked.store.get_blob(asked.reasoner._asker._json_modes._place)
        ).decode() == mode
        asked.reasoner._asker._json_modes._mode = None
        await asked.reasoner.merge(parties()[0])
        assert asked.server.seen.calls["probe"] == probes


async def test_of_a_server_that_is_not_up_yet_nothing_is_remembered(open_reasoner):
    """A probe that nobody answers says nothing of what the server can: it would be asked in plain
    text ever after."""

    async def raise_loading(*_):
        raise Refused(503, "Loading model")

    async with open_reasoner(attempts=1) as asked:
        with (
            patch.object(asked.server, "_answer_chat", raise_loading),
            pytest.raises(ReasonerUnavailable),
        ):
            await collect_answers(asked)
        await collect_answers(asked)
        assert await asked.reasoner._asker._json_modes.mode() is Mode.BOUNDED


@pytest.mark.parametrize(
    ("habit", "mode"),
    [("schema_500", Mode.JSON), ("json_only", Mode.JSON), ("format_422", Mode.PLAIN)],
)
async def test_a_server_that_was_exchanged_is_looked_at_again_and_no_question_is_lost(
    open_reasoner, habit, mode
):
    """Many at once: what they find out together is one step down, not one each."""
    async with open_reasoner(attempts=2, cached_answers=0) as asked:
        structured = asked.reasoner._asker._json_modes
        assert await structured.mode() is Mode.BOUNDED
        asked.server.script = replace(asked.server.script, habits=frozenset([habit]))
        structured._looked_at -= LOOK_SECONDS
        answers = await asyncio.gather(*(asked.reasoner.merge(parties()[0]) for _ in range(4)))
        assert all(len(answer.edits) == 1 for answer in answers)
        assert await structured.mode() is mode


@pytest.mark.parametrize(
    "habits", [("infinite",), ("infinite", "no_finish"), ("infinite", "fences", "no_finish")]
)
async def test_a_number_that_nobody_asked_for_may_be_infinite(open_reasoner, habits):
    async with open_reasoner(habits=habits) as asked:
        reader, positive, negative = parties()
        answer = await asked.reasoner.forward(work(), reader, [positive, negative], None)
        assert answer.merges[0].edits
        assert answer.prediction is True
        assert asked.calls == 1, "nothing is asked again"
        assert answer.usage.total.lost == 0
        await asked.reasoner._asker.keeping.finish()
        again = await asked.reasoner.forward(work(), reader, [positive, negative], None)
        assert (again.prediction, asked.calls) == (answer.prediction, 1), "it is kept as any other"


@pytest.mark.parametrize("habit", ["context_code", "context_type"])
async def test_too_long_a_prompt_is_never_asked_twice(open_reasoner, habit):
    lines = [line(n, "jazz", text="w " * 110) for n in range(1, 200)]
    async with open_reasoner(habits=(habit,), context_tokens=100_000) as asked:
        with pytest.raises(ReasonerGaveUp, match="too long"):
            await asked.reasoner.merge(party(user(), *lines, messages=(TOLD,)))
        assert asked.calls == 1


async def test_what_does_not_fit_is_not_sent(open_reasoner):
    lines = [line(n, "jazz", text="w " * 110) for n in range(1, 200)]
    async with open_reasoner(context_tokens=2_048) as asked:
        with pytest.raises(ReasonerGaveUp, match="context_tokens"):
            await asked.reasoner.merge(party(user(), *lines, messages=(TOLD,)))
        assert asked.calls == 0


async def test_a_wrong_key_makes_the_work_wait_and_is_not_printed(open_reasoner):
    async with open_reasoner(habits=("key_required",), key="sk-secret") as asked:
        with pytest.raises(ReasonerUnavailable, match="is the key right") as raised:
            await asked.reasoner.merge(parties()[0])
        assert "sk-secret" not in str(raised.value)
    async with open_reasoner(habits=("key_required",), key="right") as asked:
        assert (await asked.reasoner.merge(parties()[0])).edits


async def test_many_clients_and_routers_share_calls_and_come_back_in_order(open_reasoner):
    clients = [item(5 + 2 * n, f"Record {n}", ("jazz", f"style {n}")) for n in range(25)] + [user()]
    async with open_reasoner() as asked:
        described = await asked.reasoner.extract(clients)
        assert [edits[0].line.text.split()[1] for edits in described.edits[:25]] == [
            str(n) for n in range(25)
        ]
        assert described.edits[25] == ()
        assert asked.server.seen.calls["extract"] == 3
        routers = [
            Integration(n, None, {f"style {n}": 2}, {f"style {n}": 2.0}, {}, []) for n in range(20)
        ]
        summaries = (await asked.reasoner.summarize(routers)).summaries
        assert [one.name for one in summaries] == [f"style {n}" for n in range(20)]
        assert all(40 <= len(one.text.split()) <= 60 for one in summaries)
        assert asked.server.seen.calls["summarize"] <= 3


async def test_equal_questions_are_answered_from_the_graph(open_reasoner):
    async with open_reasoner() as asked:
        first = await collect_answers(asked)
        await asked.reasoner._asker.keeping.finish()
        again = await collect_answers(asked)
        assert asked.calls == 2
        assert [part.edits for part in again[1].clients] == [
            part.edits for part in first[1].clients
        ]
        assert again[0].usage.total.cached == 1
    async with open_reasoner(cached_answers=0) as asked:
        await collect_answers(asked)
        await collect_answers(asked)
        assert asked.calls == 4


async def test_the_label_is_never_in_the_prompt_that_predicts(open_reasoner):
    async with open_reasoner() as asked:
        reader, positive, negative = parties()
        await asked.reasoner.forward(work(), reader, [positive, negative], None)
        await asked.reasoner.forward(work(), reader, [negative, positive], None)
        one, other = asked.server.seen.prompts[-2:]
        for prompt in (one, other):
            assert not {"positive", "negative", "chosen", "4711", "0815"} & set(
                prompt.lower().replace('"', " ").split()
            )
        first, second = (read_data([{"content": prompt}]) for prompt in (one, other))
        assert first == {
            **second,
            "candidate_1": second["candidate_2"],
            "candidate_2": second["candidate_1"],
        }


async def test_line_by_line_it_is_thirteen_calls_and_the_same_types(open_reasoner):
    async with open_reasoner(fused=False) as asked:
        heard = [party(one.client, *one.profile.lines, messages=(TOLD,)) for one in parties()]
        forward = await asked.reasoner.forward(work(), heard[0], heard[1:], None)
        backward = await asked.reasoner.backward(work(), 1, *heard)
        assert asked.calls == 13
        assert forward.prediction is True
        assert len(backward.clients) == 3
        assert len({(one.module, one.owner) for one in backward.gradients}) == len(
            backward.gradients
        )
