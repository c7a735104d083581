"""The fixtures that run the same cases on every graph store."""

import pytest

from tests.contract.graph_store import MAKERS, MARKED, TurnedClock


@pytest.fixture
def clock():
    return TurnedClock()


@pytest.fixture(params=MARKED)
async def reopen(request, tmp_path, clock):
    """Return a function that opens the same database anew.

    As a restart does, it first closes the store that it opened before.
    """
    last = None

    async def open_again():
        nonlocal last
        if last is not None:
            await last.close()
        last = MAKERS[request.param](tmp_path, clock)
        await last.open()
        return last

    yield open_again
    if last is not None:
        await last.close()


@pytest.fixture
async def store(reopen):
    return await reopen()
