"""An address that answers but is no endpoint, and a model that the server does not have.

The error says what answered and which setting to correct.
"""

import json
from contextlib import AsyncExitStack

import pytest

from propagation.adapters.openai.embedder import create_openai_embedder
from propagation.model import (
    EndpointUnavailable,
    ReasonerGaveUp,
    ReasonerUnavailable,
    WrongEndpoint,
)
from tests.unit.adapters.openai.other_server import other_server
from tests.unit.adapters.openai.test_answer_forms import ask_both, open_reasoner_of


@pytest.fixture
def server():
    with other_server() as other:
        yield other


def write_page(title):
    return (
        f"<!DOCTYPE html>\n<html><head><title>{title}</title></head><body>x</body></html>".encode()
    )


# Each server's answer, and what the sentence says of it.
NO_ENDPOINT = {
    "Apache": (404, write_page("404 Not Found"), '404: a web page, "404 Not Found"'),
    "FastAPI": (404, {"detail": "Not Found"}, "404: Not Found"),
    "Ollama without /v1": (404, b"404 page not found", "404: 404 page not found"),
    "nginx": (
        405,
        b"<html>\r\n<center><h1>405 Not Allowed</h1></center></html>",
        "405 Not Allowed",
    ),
    "http.server": (501, write_page("Error response"), '501: a web page, "Error response"'),
    "TLS": (400, b"<html><h1>400: plain HTTP was sent to an HTTPS port</h1></html>", "HTTPS port"),
    "forbidden": (403, write_page("Forbidden"), '403: a web page, "Forbidden"'),
    "gone": (410, {"error": {"message": "This endpoint was shut down"}}, "410: This endpoint was"),
    "an app": (200, write_page("Welcome &amp; hello"), 'a web page, "Welcome & hello"'),
    "an API": (200, {"message": "Welcome to the inventory"}, "Welcome to the inventory"),
    "a health check": (200, {"status": "ok"}, "the response has no choices"),
    "a word": (200, b"pong", "the response has no choices: pong"),
    "nothing": (200, b"", "the response has no choices"),
}
UNKNOWN_MODEL = {
    "OpenAI": (404, "The model `other` does not exist or you do not have access to it."),
    "Ollama": (404, 'model "other" not found, try pulling it first'),
    "OpenRouter": (404, "No endpoints found for other."),
    "OpenRouter, no such name": (400, "other is not a valid model ID"),
    "LiteLLM": (400, "Invalid model name passed in model=other. Call `/v1/models` to view yours"),
    "Mistral": (400, "Invalid model: other"),
    "without access": (403, "Project `p` does not have access to model `other`"),
    "unprocessable": (422, "model 'other' is not available"),
}


@pytest.mark.parametrize("kind", NO_ENDPOINT)
async def test_an_address_that_is_no_endpoint_is_named_with_what_answered(server, store, kind):
    status, body, said = NO_ENDPOINT[kind]
    server.refuses = lambda asked: (status, body)
    async with open_reasoner_of(server, store) as reasoner:
        reasoner.endpoint.limiter.pause = lambda seconds: 0.0
        with pytest.raises(WrongEndpoint) as raised:
            await ask_both(reasoner)
    sentence = str(raised.value)
    assert sentence.startswith(
        f"{server.base_url} answers, but is no endpoint of chat completions ("
    )
    assert said in sentence
    assert sentence.endswith(
        "): set openai.base_url to the address of an OpenAI-compatible server, which usually ends"
        " in /v1"
    )
    assert "\n" not in sentence
    assert len(server.asked) <= 3


@pytest.mark.parametrize("kind", UNKNOWN_MODEL)
async def test_a_model_that_the_server_does_not_know_is_named(server, store, kind):
    status, message = UNKNOWN_MODEL[kind]
    server.refuses = lambda asked: (status, {"error": {"message": message}})
    async with open_reasoner_of(server, store) as reasoner:
        with pytest.raises(WrongEndpoint) as raised:
            await ask_both(reasoner)
    assert str(raised.value) == (
        f"{server.base_url} does not know the model other ({status}: {message}): set openai.model"
        " to one that it serves"
    )


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (502, write_page("Bad Gateway")),
        (503, write_page("Service Unavailable")),
        (500, write_page("Internal Server Error")),
        (429, write_page("Too Many Requests")),
        (200, {"error": {"message": "overloaded"}}),
    ],
)
async def test_a_page_of_a_proxy_whose_server_is_away_blames_no_setting(
    server, store, status, body
):
    server.refuses = lambda asked: (status, body)
    async with open_reasoner_of(server, store) as reasoner:
        reasoner.endpoint.limiter.pause = lambda seconds: 0.0
        with pytest.raises(EndpointUnavailable) as raised:
            await ask_both(reasoner)
    assert "<" not in str(raised.value)


async def test_a_proxy_that_wants_a_key_is_no_wrong_address(server, store):
    server.refuses = lambda asked: (401, write_page("Authorization Required"))
    async with open_reasoner_of(server, store) as reasoner:
        with pytest.raises(ReasonerUnavailable, match="is the key right") as raised:
            await ask_both(reasoner)
    assert not isinstance(raised.value, WrongEndpoint)


@pytest.mark.parametrize(
    ("status", "message"),
    [(400, "This model does not exist for such a question"), (405, "no such question")],
)
async def test_one_question_that_is_refused_like_this_blames_no_setting(
    server, store, status, message
):
    """While a small question is answered, the address and the model are right."""
    async with open_reasoner_of(server, store) as reasoner:
        await ask_both(reasoner)
        server.refuses = lambda body: (
            (status, {"error": {"message": message}}) if "<data>" in json.dumps(body) else None
        )
        reasoner._asker._json_modes._looked_at = float("inf")
        with pytest.raises(ReasonerGaveUp, match=message):
            await ask_both(reasoner)


@pytest.mark.parametrize("own_address", [False, True])
async def test_for_embeddings_their_own_settings_are_named(server, store, own_address):
    server.refuses = lambda asked: (404, {"detail": "Not Found"})
    embeddings = {"model": "vectors", "dimension": 4}
    base_url = server.base_url
    if own_address:
        base_url = embeddings["base_url"] = f"{server.base_url}/embedder"
    async with (
        AsyncExitStack() as stack,
        open_reasoner_of(server, store, embeddings=embeddings) as reasoner,
    ):
        embedder = create_openai_embedder(reasoner.endpoint, store)
        with pytest.raises(WrongEndpoint) as raised:
            await embedder.embed(["jazz"])
        stack.push_async_callback(embedder.close)
        setting = "openai.embeddings.base_url" if own_address else "openai.base_url"
        assert str(raised.value).startswith(f"{base_url} answers, but is no endpoint of embeddings")
        assert f"set {setting} to" in str(raised.value)
        server.refuses = lambda asked: (404, {"error": {"message": "no model vectors here"}})
        with pytest.raises(WrongEndpoint, match=r"model vectors .* set openai\.embeddings\.model"):
            await embedder.embed(["jazz"])
