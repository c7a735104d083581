"""Locks of one process: which activities may overlap, and the locking order."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from enum import Enum, IntEnum
from weakref import WeakKeyDictionary


class ReadersWriterLock:
    """Readers-writer lock for asyncio; a waiting writer keeps later readers waiting."""

    def __init__(self) -> None:
        self._writer = asyncio.Lock()
        self._readers = 0
        self._no_readers = asyncio.Event()
        self._no_readers.set()

    @asynccontextmanager
    async def read(self) -> AsyncIterator[None]:
        """Hold the lock together with other readers."""
        async with self._writer:
            self._readers += 1
            self._no_readers.clear()
        try:
            yield
        finally:
            self._readers -= 1
            if not self._readers:
                self._no_readers.set()

    @asynccontextmanager
    async def write(self) -> AsyncIterator[None]:
        """Hold the lock alone, once the readers inside have left."""
        async with self._writer:
            await self._no_readers.wait()
            yield


class CommitLock:
    """Lock under which this process commits clients' texts, one at a time.

    A caller can also reserve clients. The lock does not hold back other processes: the texts'
    versions in the graph do.
    """

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._reserved: set[int] = set()
        self._released = asyncio.Event()

    @asynccontextmanager
    async def hold(
        self, refs: Collection[int], reserved: Collection[int] = frozenset()
    ) -> AsyncIterator[None]:
        """Hold the lock to commit these clients' texts.

        Args:
            refs: The clients; waits until none of them is reserved by another caller.
            reserved: The clients that the caller itself has reserved.
        """
        while True:
            async with self._lock:
                if self._reserved.intersection(refs) <= frozenset(reserved):
                    yield
                    return
                self._released.clear()
            await self._released.wait()

    @asynccontextmanager
    async def reserve(self, refs: Collection[int]) -> AsyncIterator[None]:
        """Keep other callers from committing texts of these clients."""
        async with self.hold(refs):
            self._reserved.update(refs)
        try:
            yield
        finally:
            self._reserved.difference_update(refs)
            self._released.set()  # without an await, which a cancellation would skip


class Resource(IntEnum):
    """A part of the engine that one activity changes at a time.

    The values are the order of locking.
    """

    ERASURES = 1
    """The files that an erasure wipes after its commit."""
    FIRST_EPOCH = 2
    """Whether the first bootstrap is due."""
    ROUTERS = 3
    """The set of routers, and the epoch."""
    TEXTS = 4
    """Texts that reasoning writes."""
    ROUNDS = 5
    """The routing table and the routers' texts."""
    NUMBERS = 6
    """The numbers view and the learned blocks."""
    MERGES = 7
    """Texts into which reads merge messages; reads share the lock."""


class Activity(Enum):
    """An activity of the engine.

    Recording and reading need no lock and go on during all activities. Following other processes
    and embedding refused texts again need none either: both only write rows that follow from the
    store, on the numbers' own thread.
    """

    LEARN = "learn"
    """Also loading the numbers again, and copying them."""
    REASON = "reason"
    REPLAY_DEAD_LETTERS = "replay dead letters"
    ROUND = "round"
    UPDATE_INDEX = "update the vector index"
    REINDEX = "reindex"
    EVOLVE = "evolve"
    PUBLISH_EVOLUTION = "publish an evolution"
    CHECK_BOOTSTRAP = "check whether the first bootstrap is due"
    BOOTSTRAP = "bootstrap"
    OPEN_FIRST_EPOCH = "open the first epoch"
    """A bootstrap beside reasoning, which may wait for a model for minutes."""
    MERGE = "merge messages at a read"
    """Shares MERGES with other reads."""
    WITHDRAW = "withdraw events, or everything of a client"
    ERASE = "erase a client and wipe its traces"


LOCKED: Mapping[Activity, tuple[Resource, ...]] = {
    Activity.LEARN: (Resource.NUMBERS,),
    Activity.REASON: (Resource.TEXTS,),
    Activity.REPLAY_DEAD_LETTERS: (Resource.TEXTS,),
    Activity.ROUND: (Resource.ROUNDS,),
    Activity.UPDATE_INDEX: (Resource.TEXTS, Resource.ROUNDS),
    Activity.REINDEX: (Resource.TEXTS, Resource.ROUNDS),
    Activity.EVOLVE: (Resource.ROUTERS,),
    Activity.PUBLISH_EVOLUTION: (Resource.TEXTS, Resource.ROUNDS),
    Activity.CHECK_BOOTSTRAP: (Resource.FIRST_EPOCH,),
    Activity.BOOTSTRAP: (Resource.ROUTERS, Resource.TEXTS, Resource.ROUNDS, Resource.NUMBERS),
    Activity.OPEN_FIRST_EPOCH: (Resource.ROUTERS, Resource.ROUNDS, Resource.NUMBERS),
    Activity.MERGE: (Resource.MERGES,),
    Activity.ERASE: (Resource.ERASURES,),
    Activity.WITHDRAW: (
        Resource.ROUTERS,
        Resource.TEXTS,
        Resource.ROUNDS,
        Resource.NUMBERS,
        Resource.MERGES,
    ),
}
"""Two activities overlap unless they lock a common resource; merges overlap, too."""
SETTLED = frozenset(
    {
        Activity.REPLAY_DEAD_LETTERS,
        Activity.REINDEX,
        Activity.PUBLISH_EVOLUTION,
        Activity.BOOTSTRAP,
        Activity.WITHDRAW,
    }
)
"""Activities that also wait until the reasoner works on no interaction."""


class Exclusion:
    """The locks of one process' activities.

    Every activity takes its locks in the order of Resource, whatever else runs. An activity may
    run inside another one if all its resources come later than those which the outer one holds.
    """

    def __init__(self, settle: Callable[[], Awaitable[None]]) -> None:
        """Create the locks.

        Args:
            settle: Waits until the reasoner works on no interaction.
        """
        self._settle = settle
        self._merges = ReadersWriterLock()
        self._locks = {resource: asyncio.Lock() for resource in Resource}
        self._last_held = WeakKeyDictionary[asyncio.Task[object], Resource | None]()

    def is_under_way(self, activity: Activity) -> bool:
        """Tell whether this activity, or one that locks the same, runs now.

        An activity that may as well come later asks this first: while it waits for one lock, it
        holds those before it.
        """
        return any(self._locks[resource].locked() for resource in LOCKED[activity])

    @asynccontextmanager
    async def run(self, activity: Activity) -> AsyncIterator[None]:
        """Keep conflicting activities out until the body ends.

        Raises:
            RuntimeError: The caller already holds one of the locks, or a later one.
        """
        task = asyncio.current_task()
        assert task is not None, "activities run in tasks"
        resources = sorted(LOCKED[activity])
        outer = self._last_held.get(task)
        if outer is not None and resources[0] <= outer:
            raise RuntimeError(f"{activity.value!r} cannot start while its task holds {outer.name}")
        merges = self._merges.read() if activity is Activity.MERGE else self._merges.write()
        async with AsyncExitStack() as locks:
            for resource in resources:
                await locks.enter_async_context(
                    merges if resource is Resource.MERGES else self._locks[resource]
                )
                if resource is Resource.TEXTS and activity in SETTLED:
                    await self._settle()
            self._last_held[task] = resources[-1]
            try:
                yield
            finally:
                self._last_held[task] = outer
