"""A failing service, and a client of it that retries fast."""

import pytest

from propagation_client import PropagationClient, Retries
from tests.client.failing_service import FailingService, start_service


@pytest.fixture
async def service():
    return FailingService()


@pytest.fixture
async def address(service):
    async with start_service(service) as address:
        yield address


@pytest.fixture
async def client(address):
    async with PropagationClient(address, retries=Retries(first_seconds=0.01)) as client:
        yield client
