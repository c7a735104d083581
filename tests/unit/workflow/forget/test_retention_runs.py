"""Retention starts a run when enough sequences are new, and only then."""

from propagation.workflow.forget.retention import Retention


class Counting:
    """The part of a store that retention uses.

    Attributes:
        left: How many rows the current run may still drop.
    """

    def __init__(self):
        self.recorded, self.oldest, self.left = 0, 0, 10

    async def get_recorded_through(self):
        return self.recorded

    async def get_oldest_kept(self):
        return self.oldest

    async def prune(self, before, limit):
        self.oldest, dropped = before, min(self.left, 4)
        self.left -= dropped
        return dropped or None


async def test_a_run_goes_on_to_its_end_and_waits_for_the_next_step():
    store = Counting()
    retention = Retention(store, kept=100, advance=10)
    store.recorded = 109
    assert await retention.step() is None
    store.recorded = 110
    assert [await retention.step() for _ in range(4)] == [4, 4, 2, None]
    assert store.oldest == 10
    store.recorded, store.left = 119, 10
    assert await retention.step() is None
    store.recorded = 120
    assert await retention.step() == 4
