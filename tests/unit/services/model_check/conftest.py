"""A scripted server that gives the answers a test wants, and a check that asks it."""

import json
from contextlib import asynccontextmanager

import pytest

from propagation.adapters.openai.endpoint import endpoint
from propagation.datasets.generated_town import generate_town
from services.config.settings import Settings
from services.fake_llm import server
from services.fake_llm.rule import read_data, write_scripted_answer
from services.fake_llm.script import Script
from services.model_check.report import measure_model
from services.model_check.sample import draw_sample

SEED, QUESTIONS = 7, 60


@pytest.fixture(autouse=True)
def _short_backoff(monkeypatch):
    """Retry failed calls at once."""
    monkeypatch.setattr(endpoint, "BACKOFF_SECONDS", 0.01)


@pytest.fixture
async def truth():
    """Return each pair's number and chosen title, by its user's lines as a prompt shows them."""
    sample = await draw_sample(generate_town(SEED).dataset, QUESTIONS, SEED)
    return {
        json.dumps([line.text for line in pair.user.profile.lines]): (
            number,
            pair.chosen.client.title,
        )
        for number, pair in enumerate(sample.pairs)
    }


@pytest.fixture
def plant(monkeypatch):
    """Return a function that changes each answer by `change(data, answer)`."""

    def start(change):
        def answer(messages, response_format, *, obeying):
            data = read_data(messages)
            found = write_scripted_answer(messages, response_format, obeying=obeying)
            return change(data, found) if data else found

        monkeypatch.setattr(server, "write_scripted_answer", answer)

    return start


@pytest.fixture
def open_model():
    """Return a function that starts the server. Use: `async with open_model() as model`."""

    @asynccontextmanager
    async def start(*, habits=(), faults=None, latency=0.0):
        script = Script(habits=frozenset(habits), faults=faults or {}, latency=latency)
        async with server.fake_llm(script) as opened:
            yield opened

    return start


@pytest.fixture
def check(open_model):
    """Return a function that checks the planted model on the town, and returns the report."""

    async def run(**options):
        async with open_model() as model:
            settings = Settings(openai={"base_url": model.base_url, "model": "planted", **options})
            return await measure_model(
                settings, generate_town(SEED).dataset, QUESTIONS, SEED, lambda done, total: None
            )

    return run
