"""Modes in which a server answers in JSON.

A server's mode is found out once by asking, and then stored for its address and model.
"""

import asyncio
import secrets
import time
from collections.abc import Mapping
from enum import StrEnum
from hashlib import blake2b
from typing import Any

from propagation.adapters.openai.answer_json import parse_answer
from propagation.adapters.openai.endpoint.endpoint import Endpoint
from propagation.model import ReasonerGaveUp
from propagation.ports import BlobStore

TOKENS = 200
LOOK_SECONDS = 300.0
ASKED = [
    {
        "role": "user",
        "content": "Answer with a JSON object of one member, named word,"
        " whose value is a word of your choice.",
    }
]


class Mode(StrEnum):
    """Promises that a server makes about the form of its answers.

    Attributes:
        BOUNDED: It enforces a schema that may bound the length of texts and lists.
        SCHEMA: It enforces a schema.
        JSON: It promises a JSON object.
        PLAIN: It promises nothing.
    """

    BOUNDED = "bounded"
    SCHEMA = "schema"
    JSON = "json"
    PLAIN = "plain"


SIMPLER = {Mode.BOUNDED: Mode.SCHEMA, Mode.SCHEMA: Mode.JSON, Mode.JSON: Mode.PLAIN}
ENFORCED = frozenset({Mode.BOUNDED, Mode.SCHEMA})
BOUND = {
    "list": {
        "type": "array",
        "items": {"type": "string", "maxLength": 8},
        "minItems": 1,
        "maxItems": 1,
    }
}


class JsonModeDetector:
    """Finds out and remembers the mode of an endpoint."""

    def __init__(self, endpoint: Endpoint, store: BlobStore) -> None:
        self._endpoint = endpoint
        self._store = store
        self._mode: Mode | None = None
        self._lock = asyncio.Lock()
        self._looked_at = -LOOK_SECONDS
        options = endpoint.options
        self._place = (
            "structured:"
            + blake2b(f"{options.base_url} {options.model}".encode(), digest_size=8).hexdigest()
        )

    async def mode(self) -> Mode:
        """Return the mode to ask in.

        Raises:
            ReasonerUnavailable: The endpoint answers no call now.
        """
        async with self._lock:
            if self._mode is None:
                blob = await self._store.get_blob(self._place)
                self._mode = Mode(blob.decode()) if blob else await self._find_out()
            return self._mode

    async def after(self, given_up: Mode, *, refused: bool) -> Mode:
        """Choose the next mode after a question was given up.

        A server that refused the form is asked in a simpler mode. Otherwise the mode is found out
        again, at most once in LOOK_SECONDS: another server may have taken over the address.

        Args:
            given_up: The mode in which the question was asked.
            refused: Whether the server refused the form of the answer.

        Returns:
            `given_up` itself if no other mode is known.

        Raises:
            ReasonerUnavailable: The endpoint answers no call now.
        """
        async with self._lock:
            if self._mode is given_up and refused and given_up in SIMPLER:
                self._mode = await self._keep(SIMPLER[given_up])
            elif self._mode is given_up and time.monotonic() - self._looked_at >= LOOK_SECONDS:
                self._mode = await self._find_out()
            return self._mode or given_up

    async def _find_out(self) -> Mode:
        mode = await self._keep(await self._probe())
        self._looked_at = time.monotonic()
        return mode

    async def _probe(self) -> Mode:
        """Find the JSON mode of the server by probing it.

        The probe's schema demands a random word that no model says unasked. If the word comes back,
        the server enforces schemas. A server may refuse bounds of length, or accept and ignore
        them.
        """
        for mode, bound in ((Mode.BOUNDED, BOUND), (Mode.SCHEMA, {})):
            word = secrets.token_hex(5)
            asked = {"word": {"type": "string", "const": word}, **bound}
            if (
                await self._answer(
                    build_schema_format(
                        {
                            "type": "object",
                            "properties": asked,
                            "required": list(asked),
                            "additionalProperties": False,
                        }
                    )
                )
            ).get("word") == word:
                return mode
        return Mode.JSON if await self._answer({"type": "json_object"}) else Mode.PLAIN

    async def _answer(self, response_format: Mapping[str, Any]) -> Mapping[str, Any]:
        try:
            reply = await self._endpoint.chat("probe@1", ASKED, TOKENS, response_format, attempts=1)
        except ReasonerGaveUp:
            return {}
        found = parse_answer(reply.text, reply.finish, reply.refusal, ["word"])
        return {} if found.fault else found.value

    async def _keep(self, mode: Mode) -> Mode:
        await self._store.put_blob(self._place, mode.encode())
        return mode


def build_schema_format(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return the response format that demands a JSON schema."""
    return {
        "type": "json_schema",
        "json_schema": {"name": "answer", "strict": True, "schema": schema},
    }
