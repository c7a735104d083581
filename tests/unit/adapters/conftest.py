"""A scripted server, and a reasoner that asks it."""

from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest

from propagation.adapters.offline.extract import extract_lines
from propagation.adapters.openai.endpoint import endpoint
from propagation.adapters.openai.endpoint.endpoint import create_openai_endpoint
from propagation.adapters.openai.options import OpenAIOptions
from propagation.adapters.openai.paper_reasoner import create_openai_reasoner
from propagation.adapters.openai.reasoner import OpenAIReasoner
from propagation.adapters.sqlite.store import SqliteStore
from services.fake_llm.script import Script
from services.fake_llm.server import FakeLLM, fake_llm
from services.runtime.process import SystemClock


@dataclass
class ScriptedModel:
    server: FakeLLM
    reasoner: OpenAIReasoner
    store: SqliteStore

    @property
    def calls(self):
        """Number of calls that reached the server, without probes and pings."""
        return (
            self.server.seen.calls.total()
            - self.server.seen.calls["probe"]
            - self.server.seen.calls["ping"]
        )


@pytest.fixture(autouse=True)
def _short_backoff(monkeypatch):
    """Retry failed calls at once."""
    monkeypatch.setattr(endpoint, "BACKOFF_SECONDS", 0.01)


@pytest.fixture
async def store(tmp_path):
    opened = SqliteStore(tmp_path / "graph.db", SystemClock())
    await opened.open()
    yield opened
    await opened.close()


@pytest.fixture
def open_reasoner(store):
    """Return a function that starts the server and the reasoner.

    Use: `async with open_reasoner(habits=..., faults=..., attempts=...) as asked`.
    """

    @asynccontextmanager
    async def start(*, habits=(), faults=None, key=None, retry_after=0.01, **options):
        script = Script(habits=frozenset(habits), faults=faults or {}, retry_after=retry_after)
        async with fake_llm(script) as server:
            told = OpenAIOptions(
                **{"base_url": server.base_url, "model": "scripted", "timeout": 5.0, **options}
            )
            reasoner = create_openai_reasoner(
                create_openai_endpoint(told, key, store, "test"), store, extract_lines
            )
            try:
                yield ScriptedModel(server, reasoner, store)
            finally:
                await reasoner.close()

    return start
