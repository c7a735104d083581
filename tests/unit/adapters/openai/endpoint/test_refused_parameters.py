"""Servers that refuse something of how we ask: it is left out, once and for all; what is refused of
everything is no question's fault."""

import asyncio
import json

import pytest

from propagation.adapters.openai.answers.json_mode import Mode
from propagation.adapters.openai.embedder import create_openai_embedder
from propagation.model import ReasonerFailed, ReasonerGaveUp, ReasonerUnavailable
from tests.unit.adapters.openai.other_server import BADLY, READ, other_server
from tests.unit.adapters.openai.test_answer_forms import ask_both, open_reasoner_of
from tests.unit.adapters.openai.test_server_habits import parties


@pytest.fixture
def server():
    with other_server() as other:
        yield other


def error(message, **others):
    return {"error": {"message": message, **others}}


def list_roles(body):
    return [message["role"] for message in body["messages"]]


TEMPLATES = {
    "vLLM, Gemma": (400, error("System role not supported", type="BadRequestError", code=400)),
    "of old": (
        500,
        error("jinja2.exceptions.TemplateError: Only user and assistant roles are supported!"),
    ),
    "Mistral": (
        422,
        {
            "detail": (
                "After the optional system message, conversation roles must alternate "
                "user/assistant"
            )
        },
    ),
}


@pytest.mark.parametrize("template", TEMPLATES)
async def test_a_model_whose_template_knows_no_system_is_told_in_the_first_message(
    server, store, template
):
    server.refuses = lambda body: TEMPLATES[template] if "system" in list_roles(body) else None
    async with open_reasoner_of(server, store) as reasoner:
        forward, _ = await ask_both(reasoner)
    assert forward.prediction is True
    assert [list_roles(body) for body in server.asked] == [
        ["system", "user"],
        ["user"],
        ["user"],
    ], "refused once"
    told, _, rest = server.asked[1]["messages"][0]["content"].partition("<data>\n{")
    assert "prediction" in told
    assert "prediction" not in rest.partition("</data>")[0]


async def test_a_server_that_does_not_say_what_it_minds_is_tried_without_system_too(server, store):
    """Seen of a real one: `Internal Server Error`, and the reason in its log."""
    server.refuses = lambda body: (
        (500, b"Internal Server Error") if "system" in list_roles(body) else None
    )
    async with open_reasoner_of(server, store) as reasoner:
        forward, _ = await ask_both(reasoner)
        total = reasoner.endpoint.ledger.this_run.total
    assert forward.prediction is True
    assert [list_roles(body) for body in server.asked] == [["system", "user"]] * 2 + [
        ["user"]
    ] * 3, "two pings, and from then on"
    assert total.calls == len(server.asked)


async def test_many_at_once_find_out_together_what_a_server_does_not_say(server, store):
    server.refuses = lambda body: (
        (500, b"Internal Server Error") if "system" in list_roles(body) else None
    )
    async with open_reasoner_of(server, store, in_flight=30) as reasoner:
        found = await asyncio.gather(*(ask_both(reasoner) for _ in range(30)))
    assert all(forward.prediction is True for forward, _ in found)
    assert sum("system" in list_roles(body) for body in server.asked) <= 31, (
        "the breaker stays shut"
    )


async def test_roles_alternate_where_an_answer_was_empty(server, store):
    server.form = lambda answer: {"choices": [{"message": {"content": ""}}]}
    async with open_reasoner_of(server, store) as reasoner:
        with pytest.raises(ReasonerFailed):
            await ask_both(reasoner)
    assert [list_roles(body) for body in server.asked] == [["system", "user"]] * 2
    assert "Your answer was empty" in server.asked[1]["messages"][1]["content"]


TOO_MANY = {
    "OpenAI": (
        "max_tokens is too large: {asked}. This model supports at most 100 completion "
        "tokens, whereas you provided {asked}."
    ),
    "vLLM": "'max_tokens' or 'max_completion_tokens' is too large: {asked}. This model's maximum "
    "context length is 900 tokens and"
    " your request has 800 input tokens ({asked} > 900 - 800).",
    "TGI": (
        "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 900. Given: "
        "800 and {asked}"
    ),
    "as of old": "This model's maximum context length is 900 tokens. However, you requested 1100 "
    "tokens (800 in the messages,"
    " 300 in the completion). Please reduce the length of the messages or completion.",
}


@pytest.mark.parametrize("words", TOO_MANY)
async def test_where_an_answer_may_not_be_so_long_a_shorter_one_is_asked_for(server, store, words):
    def refuse(body):
        return (
            (400, error(TOO_MANY[words].format(asked=body["max_tokens"])))
            if body["max_tokens"] > 100
            else None
        )

    server.refuses = refuse
    async with open_reasoner_of(server, store) as reasoner:
        forward, _ = await ask_both(reasoner)
        assert forward.prediction is True
        asked = [body["max_tokens"] for body in server.asked]
        assert all(most >= 64 for most in asked)
        assert len(asked) == (4 if words in ("OpenAI", "TGI") else 8), (
            "a limit of its own is remembered"
        )
        assert "max_completion_tokens" not in {name for body in server.asked for name in body}


FOR_EVERYTHING = {
    "a key in another way": (
        400,
        error("API key not valid. Please pass a valid API key.", status="INVALID_ARGUMENT"),
    ),
    "an unknown model": (400, error("model `other` does not exist")),
    "not there": (405, {"detail": "Method Not Allowed"}),
    "moved": (410, error("This endpoint was shut down")),
    "locked": (423, error("The deployment is paused")),
    "no money": (402, error("Insufficient credits")),
    "for nobody": (451, error("Not available in your region")),
}


@pytest.mark.parametrize("refusal", FOR_EVERYTHING)
async def test_what_is_refused_of_everything_makes_the_work_wait(server, store, refusal):
    """Else a key that ran out would make every interaction a dead letter."""
    server.refuses = lambda body: FOR_EVERYTHING[refusal]
    async with open_reasoner_of(server, store) as reasoner:
        with pytest.raises(ReasonerUnavailable) as raised:
            await ask_both(reasoner)
    assert str(FOR_EVERYTHING[refusal][0]) in str(raised.value)
    assert len(server.asked) <= 3


async def test_what_is_refused_of_one_question_is_that_questions_fault(server, store):
    async with open_reasoner_of(server, store) as reasoner:
        await ask_both(reasoner)
        server.asked.clear()
        server.refuses = lambda body: (
            (400, error("flagged by the content policy")) if "<data>" in json.dumps(body) else None
        )
        reasoner._asker._json_modes._looked_at = float("inf")
        with pytest.raises(ReasonerGaveUp, match="content policy"):
            await ask_both(reasoner)
    assert len(server.asked) == 2, "and a ping"


async def test_embeddings_are_pinged_as_such(server, store):
    """A server of embeddings alone answers no chat; that is not why a text fails."""
    server.refuses = lambda body: (
        (404, error("no such place"))
        if "messages" in body
        else ((500, error("CUDA error")) if "bad" in body["input"] else None)
    )
    async with open_reasoner_of(server, store) as reasoner:
        found = await create_openai_embedder(reasoner.endpoint, store).embed(["jazz", "bad"])
        assert found[0].any()
        assert not found[1].any()


async def test_a_refused_schema_is_not_taken_for_more_than_that(server, store):
    """The server names a word of the grammar, and nothing that we sent."""
    server.refuses = lambda body: (
        (400, error("additionalProperties is not implemented"))
        if "response_format" in body
        else None
    )
    server.form = READ["as it should be"]
    async with open_reasoner_of(server, store) as reasoner:
        reasoner._asker._json_modes._mode = None
        assert (await reasoner.merge(parties()[0])).edits
        assert await reasoner._asker._json_modes.mode() is Mode.PLAIN


async def test_a_server_that_refuses_bounds_is_given_the_schema_without(server, store):
    server.refuses = lambda body: (
        (400, error("'maxLength' is not permitted")) if "maxLength" in json.dumps(body) else None
    )
    server.probed = lambda word: word
    async with open_reasoner_of(server, store) as reasoner:
        reasoner._asker._json_modes._mode = None
        assert (await reasoner.merge(parties()[0])).edits
        assert await reasoner._asker._json_modes.mode() is Mode.SCHEMA
        server.refuses = lambda body: None
        reasoner._asker._json_modes._mode = await reasoner._asker._json_modes._find_out()
        await reasoner.merge(parties()[0])
    assert "maxLength" in json.dumps(server.asked[-1]["response_format"])


async def test_asked_again_the_form_is_told_in_words_too(server, store):
    server.form = BADLY["another object"]
    async with open_reasoner_of(server, store) as reasoner:
        reasoner._asker._json_modes._mode = Mode.BOUNDED
        with pytest.raises(ReasonerFailed):
            await ask_both(reasoner)
    first, again = (body["messages"][0]["content"] for body in server.asked)
    assert '"prediction": {"choice": 1 | 2, "why": string}' not in first
    assert '"prediction": {"choice": 1 | 2, "why": string}' in again
