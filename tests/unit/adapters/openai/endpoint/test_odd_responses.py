"""Servers that misbehave in ways that nobody listed: what can be read is taken, what is no answer
is the endpoint's fault, and nothing else is ever raised."""

import asyncio
import json
from contextlib import asynccontextmanager

import httpx2
import pytest

from propagation.adapters.offline.extract import extract_lines
from propagation.adapters.openai.answers.json_mode import Mode
from propagation.adapters.openai.endpoint.client import LimitedStream
from propagation.adapters.openai.endpoint.endpoint import create_openai_endpoint
from propagation.adapters.openai.endpoint.failures import read_requested_pause
from propagation.adapters.openai.options import OpenAIOptions
from propagation.adapters.openai.paper_reasoner import create_openai_reasoner
from propagation.model import ReasonerFailed, ReasonerUnavailable
from tests.unit.adapters.openai.test_server_habits import parties
from tests.unit.parties import work

GOOD = json.dumps({"user": {"used": ["M1"], "edits": []}, "prediction": {"why": "so", "choice": 1}})
USAGE = {"prompt_tokens": 10, "completion_tokens": 5}


def completion(content=GOOD, finish="stop", **others):
    return {
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": content},
                "finish_reason": finish,
            }
        ],
        "usage": USAGE,
        **others,
    }


def build_response(body, status="200 OK", *headers):
    payload = (
        body
        if isinstance(body, bytes)
        else body.encode()
        if isinstance(body, str)
        else json.dumps(body).encode()
    )
    lines = [
        f"HTTP/1.1 {status}",
        "Content-Type: application/json",
        f"Content-Length: {len(payload)}",
        *headers,
    ]
    return ("\r\n".join(lines) + "\r\n\r\n").encode() + payload


@asynccontextmanager
async def serve_answer(answer, store):
    """A reasoner whose server gives every call the same bytes; yields it and a list that holds one
    entry a call."""
    calls = []

    async def serve(reader, writer):
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                [length] = [
                    line
                    for line in head.lower().split(b"\r\n")
                    if line.startswith(b"content-length")
                ]
                await reader.readexactly(int(length.split(b":")[1]))
                calls.append(head)
                writer.write(answer)
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    options = OpenAIOptions(
        base_url=f"http://127.0.0.1:{port}/v1",
        model="odd",
        timeout=2.0,
        attempts=2,
        cached_answers=0,
    )
    reasoner = create_openai_reasoner(
        create_openai_endpoint(options, None, store, "test"), store, extract_lines
    )
    reasoner._asker._json_modes._mode = Mode.PLAIN
    reasoner.endpoint.limiter.pause = lambda seconds: 0.0
    try:
        yield reasoner, calls
    finally:
        await reasoner.close()
        server.close()


async def ask(reasoner):
    reader, positive, negative = parties()
    return await reasoner.forward(work(), reader, [positive, negative], None)


async def test_an_answer_that_says_nothing_is_left_of_a_rate_is_the_last_for_a_while(store):
    headers = (
        "x-ratelimit-remaining-requests: 0",
        "x-ratelimit-reset-requests: 30s",
        "x-ratelimit-remaining-tokens: 9",
    )
    async with serve_answer(build_response(completion(), "200 OK", *headers), store) as (
        reasoner,
        calls,
    ):
        del reasoner.endpoint.limiter.pause
        assert (await ask(reasoner)).prediction is True
        assert "a rate limit is used up" in reasoner.pause_reason
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await ask(reasoner)
        assert len(calls) == 1


READ = {
    "parts": completion([{"type": "text", "text": GOOD[:20]}, {"type": "text", "text": GOOD[20:]}]),
    "strange finish": completion(finish={"a": 1}),
    "a member twice": completion('{"prediction": {"choice": 2}, "prediction": {"choice": 1}}'),
    "a list around it": completion(f"[{GOOD}]"),
    "utf-16": json.dumps(completion()).encode("utf-16"),
    "a byte order mark": b"\xef\xbb\xbf" + json.dumps(completion()).encode(),
}


@pytest.mark.parametrize("form", READ)
async def test_what_can_be_read_is_taken(store, form):
    async with serve_answer(build_response(READ[form]), store) as (reasoner, calls):
        assert (await ask(reasoner)).prediction is True
        assert len(calls) <= 2


class Endless(httpx2.AsyncByteStream):
    """Bytes for as long as somebody reads."""

    def __init__(self):
        self.closed = False
        self.given = 0

    async def __aiter__(self):
        while True:
            self.given += 1
            yield b"x" * 1_000

    async def aclose(self):
        self.closed = True


async def test_a_body_without_end_breaks_off_at_its_bound():
    stream = Endless()

    async def read_all():
        return [part async for part in LimitedStream(stream, 10_500)]

    with pytest.raises(httpx2.ReadError, match="10500 bytes"):
        await read_all()
    assert stream.given <= 11


@pytest.mark.parametrize(
    "usage",
    [
        None,
        "many",
        [1],
        {"prompt_tokens": -5, "completion_tokens": 10**30},
        {"prompt_tokens": True, "completion_tokens": 2.5},
    ],
)
async def test_counts_that_cannot_be_are_made_by_length(store, usage):
    async with serve_answer(build_response(completion() | {"usage": usage}), store) as (
        reasoner,
        _,
    ):
        total = (await ask(reasoner)).usage.total
        assert 100 < total.prompt_tokens < 1_000
        assert 10 < total.completion_tokens < 100
        await reasoner.endpoint.ledger.save(closing=True)


UNANSWERED = {
    "a page": build_response("<html>502 Bad Gateway</html>"),
    "nothing": build_response(""),
    "null": build_response("null"),
    "a list": build_response("[]"),
    "an error with 200": build_response({"error": {"message": "overloaded"}}),
    "queued": build_response({"status": "queued"}, "202 Accepted"),
    "no content": b"HTTP/1.1 204 No Content\r\n\r\n",
    "a stream": build_response("data: {}\n\ndata: [DONE]\n\n"),
    "choices that are none": build_response(completion(choices={"0": 1})),
    "deep": build_response('{"choices":' + "[" * 100_000 + "]" * 100_000 + "}"),
    "a lie about gzip": build_response(completion(), "200 OK", "Content-Encoding: gzip"),
    "an odd status": build_response({}, "600 Odd"),
    "round and round": build_response(
        {}, "307 Temporary Redirect", "Location: /v1/chat/completions"
    ),
    "a pause that is no number": build_response(
        {}, "429 Slow", "x-ratelimit-remaining-tokens: 0", "x-ratelimit-reset-tokens: 1.2.3s"
    ),
}


@pytest.mark.parametrize("form", UNANSWERED)
async def test_what_is_no_answer_makes_the_work_wait(store, form):
    async with serve_answer(UNANSWERED[form], store) as (reasoner, calls):
        with pytest.raises(ReasonerUnavailable):
            await ask(reasoner)
        assert len(calls) <= 9, "two attempts and a ping, of at most three requests each"


@pytest.mark.parametrize(
    "choices", [[], [None], ["x"], [{"message": None}], [{"message": {"content": 5}}]]
)
async def test_an_answer_without_text_is_an_empty_one(store, choices):
    async with serve_answer(build_response({"choices": choices}), store) as (reasoner, calls):
        with pytest.raises(ReasonerFailed, match="empty"):
            await ask(reasoner)
        assert len(calls) == 2


@pytest.mark.parametrize(
    ("headers", "least", "most"),
    [
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0, 0),
        ({"retry-after": "Wed, 21 Oct 2099 07:28:00 GMT"}, 120, 120),
        ({"retry-after": "9" * 30}, 120, 120),
        ({"retry-after": "-1e400"}, 1, 1),
        ({"retry-after": "\xb2"}, 1, 1),
        ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "1.2.3.4s"}, 0, 2),
        ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "\xb2s"}, 0, 0),
    ],
)
def test_a_pause_is_bounded_whatever_is_asked(headers, least, most):
    assert least <= read_requested_pause(headers) <= most


@pytest.mark.parametrize("blank", [[""], ["", ""]])
async def test_blank_choices_hold_no_text(store, blank):
    choices = [{"index": place, "message": {"content": text}} for place, text in enumerate(blank)]
    async with serve_answer(build_response({"choices": choices}), store) as (reasoner, _):
        response = await reasoner.endpoint.client.complete({"model": "scripted"})
    assert response.text is None


async def test_the_first_choice_that_says_something_is_read(store):
    texts = enumerate(["", "first", "second"])
    choices = [{"index": place, "message": {"content": text}} for place, text in texts]
    async with serve_answer(build_response({"choices": choices}), store) as (reasoner, _):
        response = await reasoner.endpoint.client.complete({"model": "scripted"})
    assert response.text == "first"
