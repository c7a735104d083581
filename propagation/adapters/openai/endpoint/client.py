"""The typed client of an endpoint, and the form of its answers."""

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NoReturn

import httpx2
from openai import AsyncOpenAI, DefaultAsyncHttpxClient
from openai.types.chat import ChatCompletion

from propagation.adapters.openai.endpoint.error_body import read_error_message
from propagation.adapters.openai.endpoint.event_stream import is_event_stream, join_events
from propagation.adapters.openai.options import TEXTS_PER_CALL, OpenAIOptions
from propagation.adapters.shared.plain_secrets import is_plain_loopback, refuse_plain_secret
from propagation.model import NO_USAGE, Usage

BODY_BYTES, NUMBER_BYTES = 8_000_000, 32
TOKENS_MAX = 10_000_000


class NoAnswer(ValueError):
    """A response without an answer, e.g. an error with status 200.

    Attributes:
        is_foreign: Whether it has neither the form of an answer nor that of an error.
    """

    def __init__(self, reason: str, *, is_foreign: bool = False) -> None:
        super().__init__(reason)
        self.is_foreign = is_foreign


@dataclass(frozen=True)
class Response:
    """The answer to a call.

    Attributes:
        prompt_tokens: The server's count, or None if it sends none; likewise `completion_tokens`.
        text: The text of a chat; None if the answer has none.
        finish: The server's reason for the end of a chat; None if it sends none.
        refusal: Why the model refused a chat; None if it did not, or if there is a text.
        vectors: A pair for each embedding, as the server sent it, unchecked: the place of its text
            (None if the server does not say), and the vector.
        usage: The cost of the call with all retries; the endpoint adds it.
    """

    prompt_tokens: int | None
    completion_tokens: int | None
    headers: Mapping[str, str]
    text: str | None = None
    finish: str | None = None
    refusal: str | None = None
    vectors: Sequence[tuple[object, Any]] = ()
    usage: Usage = NO_USAGE


class ModelClient:
    """A client of an OpenAI-compatible server.

    Each call is sent once: only the endpoint retries.

    Raises:
        PlainSecret: The key would be sent over a network unencrypted.
    """

    def __init__(self, options: OpenAIOptions, key: str | None) -> None:
        refuse_plain_secret(options.key_variable, key, options.base_url, "openai", options.insecure)
        most_bytes = max(BODY_BYTES, TEXTS_PER_CALL * options.embeddings.dimension * NUMBER_BYTES)
        self._client = AsyncOpenAI(
            base_url=options.base_url,
            api_key=key or "none",  # local servers want no key
            max_retries=0,
            timeout=options.timeout,
            # A small compressed body may unpack to an endless one.
            default_headers={"Accept-Encoding": "identity"},
            http_client=DefaultAsyncHttpxClient(
                max_redirects=2,
                trust_env=not is_plain_loopback(options.base_url),
                event_hooks={"response": [partial(_limit_body, most_bytes)]},
            ),
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def complete(self, parameters: dict[str, Any]) -> Response:
        """Ask for a chat completion.

        Raises:
            NoAnswer: The response has no choices, or an error in place of the text.
            Exception: Any error of the openai client.
        """
        # extra_body, since the client walks through its own parameters and copies them (0.4 ms).
        response = await self._client.chat.completions.with_raw_response.create(
            model=parameters["model"], messages=[], extra_body=parameters
        )
        try:
            completion: Any = response.parse()
        except json.JSONDecodeError:
            completion = response.text
        # Some servers stream an answer whether or not that is asked for.
        if isinstance(completion, str) and is_event_stream(completion):
            completion = ChatCompletion.construct(None, **join_events(completion))
        choices = getattr(completion, "choices", None)
        if not isinstance(choices, list):
            _raise_error(completion, "choices")
        # The first choice with a text, or else the first one.
        choice = max(choices, key=lambda one: bool(_read_text_of_choice(one)), default=None)
        text = _read_text_of_choice(choice) or None
        if not text and getattr(choice, "error", None):
            _raise_error(choice, "answer")
        return Response(
            _read_tokens(completion, "prompt_tokens"),
            _read_tokens(completion, "completion_tokens"),
            response.headers,
            text,
            _read_string(getattr(choice, "finish_reason", None)),
            None
            if text
            else _read_string(getattr(getattr(choice, "message", None), "refusal", None)),
        )

    async def embed(self, parameters: dict[str, Any]) -> Response:
        """Ask for embeddings.

        Raises:
            NoAnswer: The response has no data.
            Exception: Any error of the openai client.
        """
        response = await self._client.embeddings.with_raw_response.create(**parameters)
        answer: Any = response.parse()
        data = getattr(answer, "data", None)
        if not isinstance(data, list):
            _raise_error(answer, "data")
        return Response(
            _read_tokens(answer, "prompt_tokens"),
            0,
            response.headers,
            vectors=[
                (getattr(one, "index", None), getattr(one, "embedding", None)) for one in data
            ],
        )


async def _limit_body(most_bytes: int, response: httpx2.Response) -> None:
    """Treat a body of more than `most_bytes` as a broken connection."""
    assert isinstance(response.stream, httpx2.AsyncByteStream)
    response.stream = LimitedStream(response.stream, most_bytes)


@dataclass(frozen=True)
class LimitedStream(httpx2.AsyncByteStream):
    """A body that breaks off as an error after `most_bytes` bytes."""

    stream: httpx2.AsyncByteStream
    most_bytes: int

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for part in self.stream:
            size += len(part)
            if size > self.most_bytes:
                raise httpx2.ReadError(f"the answer has more than {self.most_bytes} bytes")
            yield part

    async def aclose(self) -> None:
        await self.stream.aclose()


def _raise_error(answer: object, missing: str) -> NoReturn:
    error = getattr(answer, "error", None)
    message = read_error_message(
        error or _read_string(answer) or getattr(answer, "model_extra", None)
    )
    raise NoAnswer(
        f"the response has no {missing}{': ' if message else ''}{message}", is_foreign=not error
    )


def _read_text_of_choice(choice: object) -> str | None:
    """Return the content of a choice, or else its reasoning.

    Some servers put the answer into the reasoning. Reasoning that does not begin as a JSON object
    is marked as a thought.
    """
    message = getattr(choice, "message", None)
    content = _read_text_of_content(getattr(message, "content", None))
    if content is not None and content.strip():
        return content
    thought = getattr(message, "reasoning_content", None) or getattr(message, "reasoning", None)
    if not isinstance(thought, str) or not thought.strip():
        return content
    return thought if thought.strip().startswith("{") else f"<think>{thought}"


def _read_text_of_content(content: object) -> str | None:
    """Return a text, or the joined texts of a list of parts.

    Parts with reasoning are left out.
    """
    if not isinstance(content, list):
        return _read_string(content)
    parts = (part for part in content if isinstance(part, Mapping))
    texts = (part.get("text") for part in parts if part.get("type") != "reasoning")
    return "".join(text for text in texts if isinstance(text, str)) or None


def _read_string(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _read_tokens(answer: object, name: str) -> int | None:
    """Return a count of tokens, or None if it is not usable.

    Some servers send zeros, and some send impossible counts.
    """
    count = getattr(getattr(answer, "usage", None), name, None)
    return count if type(count) is int and 0 < count <= TOKENS_MAX else None
