"""Learn: the log's interactions into the numbers, in sequence order, by the holder of the lease (DESIGN, State, 2)."""

from propagation.model.client import ClientKind, index_of, kind_of
from propagation.model.log import EntryKind, LogSlice
from propagation.ports.embedder import Embedder
from propagation.ports.graph import GraphStore
from propagation.ports.leases import Lease
from propagation.workflow.numbers import Numbers
from propagation.workflow.texts import attribute_text, content_text
from propagation.workflow.view import NumbersView

LEASE = "learn"
LEASE_MS = 10_000
BLOCK = 256
TEXTS_A_CALL = 2_000


class Learner:
    """One step at a time; a process that does not hold the lease follows instead."""

    def __init__(self, store: GraphStore, numbers: Numbers, embedder: Embedder, holder: str) -> None:
        self._store = store
        self._numbers = numbers
        self._embedder = embedder
        self._holder = holder
        self._lease: Lease | None = None

    async def catch_up(self) -> None:
        """Follow every block that is already committed."""
        while blocks := await self._store.read_learned(self._numbers.view.applied_through, 64):
            for block in blocks:
                after = self._numbers.view.applied_through
                part = await self._store.read_log(after, block.through - after)
                await self._take_clients(part)
                await self._numbers.run(NumbersView.follow, part.interactions, block)

    async def step(self, limit: int = BLOCK) -> int:
        """Learn and commit the next entries; how many log entries were covered. Raises LeaseLost."""
        self._lease = await self._store.acquire_lease(LEASE, self._holder, LEASE_MS)
        if self._lease is None:
            await self.catch_up()
            return 0
        after = self._numbers.view.applied_through
        part = await self._store.read_log(after, limit)
        if part.through == after:
            return 0
        await self._take_clients(part)
        block = await self._numbers.run(NumbersView.learn, part.interactions, part.through)
        await self._store.commit_learned(self._lease, block)
        return part.through - after

    async def _take_clients(self, part: LogSlice) -> None:
        """Rows for clients that are new in this part of the log, and new texts of those that changed."""
        await take_clients(self._store, self._numbers, self._embedder,
                           [ref for entry in part.entries if entry.kind == EntryKind.CLIENTS for ref in entry.refs])


async def take_clients(store: GraphStore, numbers: Numbers, embedder: Embedder, refs: list[int]) -> None:
    """Give the view these clients' texts as vectors."""
    users = [index_of(ref) + 1 for ref in refs if kind_of(ref) == ClientKind.USER]
    items = sorted({ref for ref in refs if kind_of(ref) == ClientKind.ITEM})
    if users:
        await numbers.run(NumbersView.add_users, max(users))
    for start in range(0, len(items), TEXTS_A_CALL):
        clients = await store.get_clients(items[start : start + TEXTS_A_CALL])
        content = await embedder.embed([content_text(client) for client in clients])
        attributes = await embedder.embed([attribute_text(client) for client in clients])

        def take(view: NumbersView, clients=clients, content=content, attributes=attributes) -> None:  # type: ignore[no-untyped-def]
            for row, client in enumerate(clients):
                view.set_item(index_of(client.ref), content[row], attributes[row], not client.hidden)

        await numbers.run(take)


