"""The scripted server in a process of its own, and its counts."""

import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from propagation.forced_exit import clean_up_by


@dataclass(frozen=True)
class Counts:
    """Counts of the server.

    Attributes:
        calls: By the name of the prompt; likewise prompt_tokens and completion_tokens.
        seconds: The time that the server took for all answers, latency included.
        most_at_once: The most requests that the server answered at the same time.
        receptions: Clients that predictions showed (three each).
        with_message: Those of the receptions that had a message.
        profile_words: Mean number of words of a profile in a prompt.
        words: Mean number of words of a text in an answer, by the text's key.
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
        """Return the counts since `before`.

        `most_at_once`, `profile_words` and `words` stay those of the whole time.
        """

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
        """Ask the server for its counts so far."""
        with urllib.request.urlopen(f"{self.base_url}/seen") as answer:
            seen: dict[str, Any] = json.load(answer)
        return Counts(**{name: seen[name] for name in Counts.__dataclass_fields__})

    def set_latency(self, seconds: float) -> None:
        """Let each answer take this many seconds from now on."""
        request = urllib.request.Request(
            f"{self.base_url}/script", json.dumps({"latency": seconds}).encode(), method="POST"
        )
        urllib.request.urlopen(request).close()


@contextmanager
def scripted(
    *, latency: float, faults: Mapping[str, float] | None = None
) -> Iterator[ScriptedServer]:
    """Run a scripted server while the body runs.

    Args:
        latency: The seconds that each answer takes.
        faults: The share of answers, 0 to 1, that each kind of fault replaces.
    """
    command = [
        sys.executable,
        "-m",
        "benchmarks.llm.measured_server",
        str(latency),
        json.dumps(dict(faults or {})),
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    with clean_up_by(process.kill):
        try:
            line = process.stdout.readline()
            yield ScriptedServer(line.removeprefix("listening on ").strip())
        finally:
            process.terminate()
            process.wait(20)
