"""The scripted server in its own process, and its counted calls."""

import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Counts:
    """Calls and tokens by prompt.

    `seconds` is the server's own time, waiting included.
    """

    calls: Mapping[str, int]
    prompt_tokens: Mapping[str, int]
    completion_tokens: Mapping[str, int]
    seconds: float
    most_at_once: int
    receptions: int
    with_message: int
    profile_words: float
    words: Mapping[str, float]

    @property
    def total_calls(self) -> int:
        return sum(self.calls.values())

    @property
    def total_prompt(self) -> int:
        return sum(self.prompt_tokens.values())

    @property
    def total_completion(self) -> int:
        return sum(self.completion_tokens.values())

    def less(self, before: "Counts") -> "Counts":
        """Return what was added since."""

        def difference(now: Mapping[str, int], then: Mapping[str, int]) -> dict[str, int]:
            return {name: count for name in now if (count := now[name] - then.get(name, 0))}

        return Counts(
            difference(self.calls, before.calls),
            difference(self.prompt_tokens, before.prompt_tokens),
            difference(self.completion_tokens, before.completion_tokens),
            self.seconds - before.seconds,
            self.most_at_once,
            self.receptions - before.receptions,
            self.with_message - before.with_message,
            self.profile_words,
            self.words,
        )


@dataclass(frozen=True)
class ScriptedServer:
    base_url: str

    def counts(self) -> Counts:
        """As of now."""
        with urllib.request.urlopen(f"{self.base_url}/seen") as answer:
            seen: dict[str, Any] = json.load(answer)
        return Counts(**{name: seen[name] for name in Counts.__dataclass_fields__})

    def set_latency(self, seconds: float) -> None:
        """Let each answer take so long from now on."""
        request = urllib.request.Request(
            f"{self.base_url}/script", json.dumps({"latency": seconds}).encode(), method="POST"
        )
        urllib.request.urlopen(request).close()


@contextmanager
def scripted(
    *, latency: float, faults: Mapping[str, float] | None = None
) -> Iterator[ScriptedServer]:
    """A server that ends with the body."""
    command = [
        sys.executable,
        "-m",
        "benchmarks.llm.measured_server",
        str(latency),
        json.dumps(dict(faults or {})),
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        yield ScriptedServer(line.removeprefix("listening on ").strip())
    finally:
        process.terminate()
        process.wait(20)
