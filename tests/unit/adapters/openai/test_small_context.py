"""With 1,024 tokens each question fits with its longest answer, whatever its texts."""

from dataclasses import replace

import pytest

from propagation.adapters.openai.prompting import (
    MESSAGE_TOKENS,
    count_data_tokens,
    count_tokens_in,
    count_tokens_needed,
    split_to_fit,
)
from propagation.adapters.openai.prompts import backward, evolve, rank
from propagation.model import (
    Author,
    Client,
    ClientKey,
    ClientKind,
    FilterRule,
    ReasonerFailed,
    RouterCase,
)
from propagation.ports import Integration
from services.fake_llm import server
from services.fake_llm.rule import write_scripted_answer
from tests.unit.parties import NEGATIVE, heard_line, item, line, message, party, user, work

CONTEXT = 1_024
WORDS = "a slow burning tale of soul and funk in the rain that people come back to every year "
RARE = "慢慢燃烧的灵魂与放克的故事在雨中人们每年都会回来"


def write_long(text, words):
    return f"{text} {words * 30}"


def build_long_party(client, words):
    lines = [
        line(
            place,
            f"soul {place}",
            text=write_long(f"Line {place}.", words),
            author=Author.CATALOGUE if place < 3 else Author.INTERACTION,
        )
        for place in range(1, 11)
    ]
    heard = [heard_line(place, place, f"funk {place}") for place in (11, 12)]
    rules = [
        FilterRule(
            router=None,
            attribute=f"dub {place}",
            factor=1.25,
            text=write_long("Rule.", words)[:150],
            age=1,
            evidence=(1,),
        )
        for place in range(8)
    ]
    messages = [
        message(place, *(f"attribute {place} {n}" for n in range(12)), text=write_long("We", words))
        for place in (3, 4, 5)
    ]
    return party(client, *lines, *heard, rules=rules, messages=messages)


def build_long_item(words, ref=NEGATIVE, **fields):
    return item(
        ref,
        title=write_long("Kind of Blue", words),
        categories=tuple(write_long(f"genre {n}", words)[:100] for n in range(9)),
        description=write_long("A record.", words),
        **fields,
    )


def build_router(words):
    names = {write_long(f"name {n}", words)[:110]: n + 1 for n in range(40)}
    return Integration(
        3,
        message(3, "soul", text=write_long("We", words)),
        names,
        {name: float(count) for name, count in names.items()},
        {},
        [write_long(f"Title {n}", words) for n in range(5)],
    )


async def ask_all_questions(reasoner, words):
    """Ask each kind of question but that of an evolution; return the answers."""
    reader = build_long_party(user(), words)
    chosen = build_long_party(build_long_item(words, ref=5), words)
    passed = build_long_party(build_long_item(words), words)
    clients = [build_long_item(words, ref=2 * n + 1) for n in range(5)]
    return [
        await reasoner.extract(clients),
        await reasoner.merge(reader),
        await reasoner.forward(work(), reader, [chosen, passed], None),
        await reasoner.backward(work(), 1, reader, chosen, passed),
        await reasoner.summarize([build_router(words)] * 3),
        await reasoner.rank(
            reader,
            [build_long_party(build_long_item(words, ref=2 * n + 1), words) for n in range(20)],
        ),
    ]


@pytest.mark.parametrize("again", [False, True], ids=["first", "again"])
@pytest.mark.parametrize("words", [WORDS, RARE], ids=["ascii", "rare"])
@pytest.mark.parametrize(
    "options",
    [
        {"fused": True},
        {"fused": False},
        {"fused": False, "edits": 1, "clients_a_call": 1, "items": "titles", "attributes": "known"},
    ],
    ids=["fused", "one-by-one", "small-model"],
)
async def test_each_call_has_room_for_its_longest_answer(
    open_reasoner, monkeypatch, options, words, again
):
    """Also a call that asks again, with the form in words and a complaint."""
    calls, asked_for = [], []

    def answer(messages, response_format, *, obeying):
        written = write_scripted_answer(messages, response_format, obeying=obeying)
        is_first = "Answer again" not in str(messages) and "word" not in written
        return {"nothing": 1} if again and is_first else written

    monkeypatch.setattr(server, "write_scripted_answer", answer)
    async with open_reasoner(context_tokens=CONTEXT, in_flight=1, **options) as asked:
        chat = asked.reasoner.endpoint.chat

        async def watch(label, messages, tokens, *rest, **named):
            if not label.startswith("probe"):
                used = sum(
                    count_data_tokens(one["content"])
                    if one["role"] == "user"
                    else count_tokens_in(one["content"])
                    for one in messages
                )
                used += MESSAGE_TOKENS * len(messages)
                calls.append((label, used, tokens))
            return await chat(label, messages, tokens, *rest, **named)

        ask = asked.reasoner._asker.ask

        async def note(question):
            asked_for.append((question.prompt.label, question.most_tokens))
            return await ask(question)

        monkeypatch.setattr(asked.reasoner.endpoint, "chat", watch)
        monkeypatch.setattr(asked.reasoner._asker, "ask", note)
        found = await ask_all_questions(asked.reasoner, words)
    most = dict(sorted(asked_for))
    assert {"extract", "merge", "summarize", "rank"} <= {label.split("@")[0] for label in most}
    for label, used, tokens in calls:
        assert used + tokens <= CONTEXT, label
    least = {label: min(tokens for name, tokens in asked_for if name == label) for label in most}
    for label, _, tokens in calls:
        # The scripted server is one that enforces bounds: no answer is cut.
        assert tokens >= least[label], label
    assert sorted(found[-1].order) == list(range(20))
    assert not again or len(calls) > 1.5 * len(asked_for)


def test_what_cannot_fit_is_named(open_reasoner):
    case = RouterCase(
        router=message(3, "soul"),
        gradients=(),
        praised=1,
        blamed=2,
        choices={},
        common={},
    )
    assert CONTEXT < count_tokens_needed(evolve.build_question(case)) < 2_048
    many = rank.build_question(party(user()), [party(item(2 * n + 1)) for n in range(200)])
    assert count_tokens_needed(many) > CONTEXT


async def test_a_question_that_cannot_fit_fails_in_a_sentence_without_a_call(open_reasoner):
    async with open_reasoner(context_tokens=CONTEXT) as asked:
        with pytest.raises(ReasonerFailed, match=r"rank@2 needs about \d+ tokens.*context_tokens"):
            await asked.reasoner.rank(party(user()), [party(item(2 * n + 1)) for n in range(200)])
        assert asked.calls == 0


async def test_parts_of_a_question_that_cannot_fit_are_lost_as_too_long(open_reasoner):
    async with open_reasoner(context_tokens=CONTEXT) as asked:
        reader = build_long_party(user(), WORDS)
        many = [message(n, "soul", text=write_long("We", WORDS)) for n in range(12)]
        chosen, passed = (build_long_party(build_long_item(WORDS, ref=n), WORDS) for n in (5, 7))
        answer = await asked.reasoner.backward(
            work(), 1, replace(reader, messages=many), chosen, passed
        )
        total = answer.usage.total
        assert total.losses["too_long"] == total.lost > 0


def test_a_large_context_asks_all_in_one_call_and_shows_all():
    reader = build_long_party(user(), WORDS)
    question = backward.build_question(work(), 1, {"user": reader, "chosen": party(item())})
    assert split_to_fit(question, 8_192) == [question]
    most = count_tokens_needed(question) - 1
    halves = split_to_fit(question, most)
    assert [list(half.parts) for half in halves] == [["user", "chosen"], ["messages"]]
    assert all(count_tokens_needed(half) <= most for half in halves)


async def test_one_client_a_call(open_reasoner):
    clients = [
        Client(2 * n + 1, ClientKey(ClientKind.ITEM, f"i{n}"), title=f"Record {n}")
        for n in range(3)
    ]
    for most, calls in ((1, 3), (2, 2)):
        async with open_reasoner(clients_a_call=most, cached_answers=0) as asked:
            await asked.reasoner.extract(clients)
            assert asked.calls == calls
