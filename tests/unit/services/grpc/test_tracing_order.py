"""Which paths a trace shows first."""

import pytest

from propagation.workflow.history.trace import AttributeHop, ProfileHop
from services.grpc.handlers.trace_propagation import LOOKED_AT_A_PLACE, _first_of

HERE = ProfileHop(ref=0, version=1, line=None)
WAITS = (HERE, AttributeHop("jazz", 3))
ARRIVES = (*WAITS, ProfileHop(ref=2, version=1, line=None))


async def found(*paths):
    for path in paths:
        yield path


@pytest.mark.parametrize(
    ("paths", "want", "more"),
    [
        ([], [], False),
        ([WAITS, ARRIVES], [ARRIVES, WAITS], False),
        ([WAITS, WAITS, ARRIVES], [ARRIVES, WAITS], True),
        ([ARRIVES, ARRIVES, ARRIVES], [ARRIVES, ARRIVES], True),
    ],
)
async def test_what_reaches_a_profile_comes_before_what_still_waits(paths, want, more):
    assert await _first_of(found(*paths), 2) == (want, more)


async def test_not_everything_is_looked_at_for_few_places():
    looked = []

    async def endless():
        while True:
            looked.append(WAITS)
            yield WAITS

    assert await _first_of(endless(), 2) == ([WAITS, WAITS], True)
    assert len(looked) == 2 * LOOKED_AT_A_PLACE + 1
