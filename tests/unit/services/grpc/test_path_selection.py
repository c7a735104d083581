"""Which paths a trace shows first."""

import pytest

from propagation.workflow.history.trace import AttributeHop, ProfileHop
from services.grpc.handlers.trace_propagation import PATHS_READ, select_paths

START = ProfileHop(ref=0, version=1, line=None)
WAITING = (START, AttributeHop("jazz", 3, 1))
REACHED = (*WAITING, ProfileHop(ref=2, version=1, line=None))


async def stream(*paths):
    for path in paths:
        yield path


@pytest.mark.parametrize(
    ("paths", "selected"),
    [
        ([], []),
        ([WAITING, REACHED], [REACHED, WAITING]),
        ([WAITING, WAITING, REACHED], [REACHED, WAITING, WAITING]),
        ([REACHED, REACHED, REACHED, REACHED], [REACHED, REACHED, REACHED]),
    ],
)
async def test_paths_that_reached_a_profile_come_first(paths, selected):
    """One path more than the limit is returned, which tells that there are more."""
    assert await select_paths(stream(*paths), 2) == selected


async def test_only_some_paths_are_read_for_a_small_limit():
    read = []

    async def yield_endlessly():
        while True:
            read.append(WAITING)
            yield WAITING

    selected = await select_paths(yield_endlessly(), 2)
    assert selected[:2] == [WAITING, WAITING]
    assert len(read) == 2 * PATHS_READ + 1
