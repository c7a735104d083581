"""The scripted server, which also measures prompts and answers.

`python -m benchmarks.llm.measured_server LATENCY FAULTS`; FAULTS is a JSON object of shares.
"""

import asyncio
import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from email.message import Message
from typing import Any

from services.fake_llm.rule import read_data
from services.fake_llm.script import Script
from services.fake_llm.server import FakeLLM, fake_llm, send


class MeasuringLLM(FakeLLM):
    """Counts clients and words; POST /script changes the latency."""

    def __init__(self, script: Script) -> None:
        super().__init__(script)
        self.receptions = 0
        self.with_message = 0
        self.profiles = 0
        self.profile_words = 0
        self.words: Counter[str] = Counter()
        self.texts: Counter[str] = Counter()

    async def answer(
        self, method: str, path: str, headers: Message, body: bytes, writer: asyncio.StreamWriter
    ) -> None:
        """Answer a request; a request to /script sets the latency."""
        if not path.endswith("/script"):
            return await super().answer(method, path, headers, body, writer)
        self.script = replace(self.script, latency=float(json.loads(body)["latency"]))
        return await send(writer, 200, {})

    def observe(self, messages: Sequence[Mapping[str, Any]], answer: object) -> None:
        """Count a prompt's clients, and the words of its answer by kind."""
        self._count_prompt(messages)
        self._count_words(answer)

    def statistics(self) -> dict[str, Any]:
        """Return the server's own statistics and the counts of this class."""
        return {
            **super().statistics(),
            "receptions": self.receptions,
            "with_message": self.with_message,
            "profile_words": self.profile_words / max(self.profiles, 1),
            "words": {
                name: round(self.words[name] / count, 1) for name, count in self.texts.items()
            },
        }

    def _count_prompt(self, messages: Sequence[Mapping[str, Any]]) -> None:
        """Count words of profiles, and receptions (eq. 5 and 6).

        A prediction has three receptions: of the user and of the two items.
        """
        data = read_data(messages)
        clients = [
            one
            for one in data.values()
            if isinstance(one, dict) and isinstance(one.get("profile"), dict)
        ]
        predicts = "user" in data and "outcome" not in data and "candidates" not in data
        if predicts and len(messages) == 2:
            self.receptions += 3
            self.with_message += sum(1 for one in clients if one.get("messages"))
        self.profiles += len(clients)
        self.profile_words += sum(len(" ".join(one["profile"].values()).split()) for one in clients)

    def _count_words(self, value: object, name: str = "") -> None:
        if isinstance(value, dict):
            for key, part in value.items():
                self._count_words(part, key)
        elif isinstance(value, list):
            for part in value:
                self._count_words(part, name)
        elif isinstance(value, str) and " " in value:
            self.words[name] += len(value.split())
            self.texts[name] += 1


async def main(latency: float, faults: Mapping[str, float]) -> None:
    """Serve until the process is ended."""
    async with fake_llm(Script(latency=latency, faults=faults), kind=MeasuringLLM) as server:
        print(f"listening on {server.base_url}", flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(float(sys.argv[1]), json.loads(sys.argv[2])))
