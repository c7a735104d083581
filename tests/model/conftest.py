"""The model's server, which `make test-model` installs."""

import os

import pytest

from tests.model.model_server import ModelServer
from tests.ports import find_free_port


@pytest.fixture
async def model(tmp_path):
    python = os.environ.get("MODEL_PYTHON")
    assert python, "`make test-model` installs the model and runs these tests"
    server = ModelServer(python, find_free_port(), tmp_path / "model.log")
    await server.start()
    yield server
    await server.kill()
