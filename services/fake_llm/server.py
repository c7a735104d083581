"""The scripted server: chat completions, embeddings, and statistics of its requests."""

import asyncio
import json
import time
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from email import message_from_string
from email.message import Message
from http import HTTPStatus
from random import Random
from typing import Any

from services.fake_llm.lab_rule import LAB_MARKS
from services.fake_llm.rule import (
    change_by_habit,
    join_texts,
    obeys,
    read_data,
    write_scripted_answer,
)
from services.fake_llm.script import (
    CONTEXT_TOKENS,
    REFUSALS,
    Refused,
    Script,
    estimate_tokens,
    write_answer,
)

DRIP_BYTES = 8
DRIP_SECONDS = 0.02
MARKS = {
    "outcome": "backward",
    "client_1": "extract",
    "router_1": "summarize",
    "candidates": "rank",
    **LAB_MARKS,
}
REFUSAL = "I'm sorry, but I can't help with that."


@dataclass
class RequestStatistics:
    """Counts of the requests that reached the server.

    Attributes:
        calls: Number of calls by prompt, or "embeddings".
        faults: Number of chat calls by fault, or "none".
        prompt_tokens: Tokens by prompt, estimated as a quarter of the characters.
        completion_tokens: The same of the answers.
        running: Number of requests that are being answered.
        most_at_once: The most requests that were answered at one time.
        prompts: The texts of the first 5,000 prompts.
        seconds: Sum of the requests' times.
        obeyed: Number of answers that obeyed an order.
    """

    calls: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    prompt_tokens: Counter[str] = field(default_factory=Counter)
    completion_tokens: Counter[str] = field(default_factory=Counter)
    running: int = 0
    most_at_once: int = 0
    prompts: list[str] = field(default_factory=list)
    seconds: float = 0.0
    obeyed: int = 0


class FakeLLM:
    """A scripted server.

    `script` may be exchanged while the server runs. GET /seen returns the statistics.
    """

    def __init__(self, script: Script) -> None:
        self.script = script
        self.seen = RequestStatistics()
        self._random = Random(script.seed)
        self.base_url = ""
        self.connections: set[asyncio.StreamWriter] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of a connection."""
        self.connections.add(writer)
        try:
            while True:
                await self.answer(*await _read(reader), writer)
        except (
            ConnectionError,
            asyncio.IncompleteReadError,
            asyncio.CancelledError,
            asyncio.LimitOverrunError,
        ):
            pass
        finally:
            self.connections.discard(writer)
            with suppress(Exception):
                writer.close()

    def statistics(self) -> dict[str, Any]:
        """Return the answer to GET /seen."""
        return {
            "calls": self.seen.calls,
            "faults": self.seen.faults,
            "prompt_tokens": self.seen.prompt_tokens,
            "completion_tokens": self.seen.completion_tokens,
            "most_at_once": self.seen.most_at_once,
            "seconds": self.seen.seconds,
        }

    def observe(self, messages: Sequence[Mapping[str, Any]], answer: object) -> None:
        """Do nothing with a prompt and its answer.

        A benchmark overrides this method to measure them.
        """

    def write_answer(
        self,
        messages: Sequence[Mapping[str, Any]],
        response_format: Mapping[str, Any] | None,
        *,
        obeying: bool,
    ) -> dict[str, Any]:
        """Write the answer to a prompt, before habits change it.

        A server with planted answers overrides this method.
        """
        return write_scripted_answer(messages, response_format, obeying=obeying)

    async def answer(
        self, method: str, path: str, headers: Message, body: bytes, writer: asyncio.StreamWriter
    ) -> None:
        started = time.monotonic()
        self.seen.running += 1
        self.seen.most_at_once = max(self.seen.most_at_once, self.seen.running)
        try:
            if path.endswith("/chat/completions") and method == "POST":
                await self._answer_chat(json.loads(body), headers, writer)
            elif path.endswith("/embeddings") and method == "POST":
                await send(writer, 200, await self._answer_embeddings(json.loads(body)))
            elif path.endswith("/models"):
                model = {"id": "scripted", "object": "model"}
                models = [] if "no_models" in self.script.habits else [model]
                await send(writer, 200, {"object": "list", "data": models})
            elif path.endswith("/seen"):
                await send(writer, 200, self.statistics())
            else:
                await send(writer, 404, {"error": {"message": f"no such path: {path}"}})
        except Refused as error:
            await send(writer, error.status, self._build_error_body(error), error.headers)
        finally:
            self.seen.running -= 1
            self.seen.seconds += time.monotonic() - started

    async def _answer_chat(
        self, body: Mapping[str, Any], headers: Message, writer: asyncio.StreamWriter
    ) -> None:
        messages = body["messages"]
        label = recognise_prompt(read_data(messages), body.get("response_format"))
        fault = self.script.draw(self._random) if label != "probe" else None
        self.seen.calls[label] += 1
        self.seen.faults[fault or "none"] += 1
        prompt = join_texts(messages)
        self.seen.prompt_tokens[label] += estimate_tokens(prompt)
        if len(self.seen.prompts) < 5_000:
            self.seen.prompts.append(prompt)
        await self._delay()
        kind = (body.get("response_format") or {}).get("type")
        too_long = estimate_tokens(prompt) > CONTEXT_TOKENS
        self._refuse(
            {
                "key_required": headers.get("Authorization") != "Bearer right",
                "schema_500": kind == "json_schema",
                "json_only": kind == "json_schema",
                "format_422": kind is not None,
                "temperature_400": "temperature" in body,
                "max_tokens_400": "max_tokens" in body,
                "context_code": too_long,
                "context_type": too_long,
            }
        )
        if fault == "429":
            raise Refused(
                429, "Too many requests", headers={"Retry-After": f"{self.script.retry_after:g}"}
            )
        if fault == "500":
            raise Refused(500, "The server had an error")
        completion = self._build_completion(body, fault)
        self.seen.completion_tokens[label] += (
            estimate_tokens(completion["choices"][0]["message"]["content"] or "")
            if completion["choices"]
            else 0
        )
        await send(writer, 200, completion, fault=fault)

    def _refuse(self, occasions: Mapping[str, bool]) -> None:
        """Refuse a call that one of the script's habits refuses.

        Args:
            occasions: For each habit, whether this call gives it a reason to refuse.
        """
        for habit, given in occasions.items():
            if given and habit in self.script.habits:
                raise REFUSALS[habit]()

    def _build_completion(self, body: Mapping[str, Any], fault: str | None) -> dict[str, Any]:
        habits = self.script.habits
        obeying = obeys(body["messages"], habits)
        self.seen.obeyed += obeying
        answer = self.write_answer(body["messages"], body.get("response_format"), obeying=obeying)
        answer = change_by_habit(answer, read_data(body["messages"]), habits)
        self.observe(body["messages"], answer)
        refusal = None
        text: str | None = write_answer(answer, fault, habits)
        limit = body.get("max_tokens") or body.get("max_completion_tokens") or 10_000
        finish: str | None = "stop"
        if text and estimate_tokens(text) > limit:
            text, finish = text[: 4 * limit], "length"
        if fault == "truncated" and text:
            text, finish = text[: len(text) // 2], "length"
        if fault == "refusal":
            in_field = self._random.random() < 0.5
            text, refusal = (None, REFUSAL) if in_field else (REFUSAL, None)
        choice = {
            "index": 0,
            "message": {"role": "assistant", "content": text, "refusal": refusal},
            "finish_reason": None if "no_finish" in habits else finish,
        }
        asked = sum(estimate_tokens(str(one["content"])) for one in body["messages"])
        counted = (0, 0) if "no_usage" in habits else (asked, estimate_tokens(text or ""))
        return {
            "id": "scripted-1",
            "object": "chat.completion",
            "created": 0,
            "model": body["model"],
            "choices": [] if fault == "empty_choices" else [choice],
            "usage": {
                "prompt_tokens": counted[0],
                "completion_tokens": counted[1],
                "total_tokens": sum(counted),
            },
        }

    async def _answer_embeddings(self, body: Mapping[str, Any]) -> dict[str, Any]:
        await self._delay()
        self.seen.calls["embeddings"] += 1
        texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
        self._refuse(
            {
                "no_embeddings": True,
                "filtered_embeddings": any("forbidden" in text for text in texts),
            }
        )
        data = [
            {"object": "embedding", "index": place, "embedding": self._embed(text)}
            for place, text in enumerate(texts)
        ]
        if "unordered_embeddings" in self.script.habits:
            data.reverse()
        return {
            "object": "list",
            "data": data,
            "model": body["model"],
            "usage": {"prompt_tokens": 1, "total_tokens": 1},
        }

    def _embed(self, text: str) -> Sequence[Any]:
        """Sum a direction for each word, so that similar texts are near."""
        dimension = (
            self.script.dimension // 2
            if "short_embeddings" in self.script.habits
            else self.script.dimension
        )
        vector = [1e-3] * dimension
        for word in text.lower().split():
            random = Random(word)
            vector = [value + random.gauss(0, 1) for value in vector]
        return [vector, vector] if "token_embeddings" in self.script.habits else vector

    async def _delay(self) -> None:
        await asyncio.sleep(self.script.latency + self._random.uniform(-1, 1) * self.script.jitter)

    def _build_error_body(self, error: Refused) -> Any:
        if "body_string" in self.script.habits:
            return error.message
        if "body_detail" in self.script.habits:
            return {"detail": [{"loc": ["body"], "msg": error.message}]}
        return {
            "error": {
                "message": error.message,
                "type": error.kind or "error",
                "code": error.code or None,
                "param": None,
            }
        }


def recognise_prompt(data: Mapping[str, Any], response_format: object) -> str:
    """Recognise a prompt by its data.

    A prompt without data is a probe if it asks for a format, else a ping.
    """
    if not data:
        return "probe" if response_format else "ping"
    return next((name for mark, name in MARKS.items() if mark in data), "forward")


@asynccontextmanager
async def fake_llm(
    script: Script | None = None, port: int = 0, kind: type[FakeLLM] = FakeLLM
) -> AsyncIterator[FakeLLM]:
    """Run a scripted server in this process.

    Args:
        script: Its delays, faults and habits; None: it answers at once and well.
        port: A port of this machine; 0 takes a free one.
        kind: The class of the server.
    """
    server = kind(script or Script())
    listener = await asyncio.start_server(server.serve, "127.0.0.1", port, limit=1 << 24)
    server.base_url = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}/v1"
    try:
        yield server
    finally:
        listener.close()
        for writer in list(server.connections):
            writer.transport.abort()
        await listener.wait_closed()


async def _read(reader: asyncio.StreamReader) -> tuple[str, str, Message, bytes]:
    """Read a request.

    Returns:
        Its method, path, headers and body.

    Raises:
        IncompleteReadError: The stream has ended.
    """
    head = await reader.readuntil(b"\r\n\r\n")
    line, _, rest = head.decode("latin-1").partition("\r\n")
    method, path, _ = line.split(" ", 2)
    headers = message_from_string(rest)
    return method, path, headers, await reader.readexactly(int(headers.get("Content-Length", 0)))


async def send(
    writer: asyncio.StreamWriter,
    status: int,
    body: Any,
    headers: Mapping[str, str] | None = None,
    fault: str | None = None,
) -> None:
    """Send an answer, with the fault if there is one.

    With `drip` the body is sent in small pieces. With `disconnect` the connection ends after half
    of it. Other faults change nothing here.
    """
    payload = json.dumps(body).encode()
    lines = [
        f"HTTP/1.1 {status} {HTTPStatus(status).phrase}",
        "Content-Type: application/json",
        f"Content-Length: {len(payload)}",
        *(f"{name}: {value}" for name, value in (headers or {}).items()),
    ]
    head = ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
    if fault == "drip":
        writer.write(head)
        for start in range(0, len(payload), DRIP_BYTES):
            writer.write(payload[start : start + DRIP_BYTES])
            await writer.drain()
            await asyncio.sleep(DRIP_SECONDS)
        return
    # in one write: if the head arrived alone, the client would wake once more
    writer.write(head + payload[: len(payload) // (2 if fault == "disconnect" else 1)])
    await writer.drain()
    if fault == "disconnect":
        writer.close()
