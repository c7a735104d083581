"""Settings to an engine: the one place that chooses adapters."""

import os
import socket
from collections.abc import Awaitable, Callable

from propagation.adapters.numpy.index import NumpyIndex
from propagation.adapters.offline.embedder import HashedEmbedder
from propagation.adapters.sqlite.files import SqliteFiles
from propagation.adapters.sqlite.points import SqlitePoints
from propagation.adapters.sqlite.store import SqliteStore
from propagation.ports.clock import Clock
from propagation.workflow.engine import Engine
from propagation.workflow.interaction import turn_of_others
from services.clock import SystemClock
from services.reasoners import reasoner_of, workflow_of
from services.settings import Settings


def laptop_store(settings: Settings, clock: Clock | None = None) -> SqliteStore:
    """The graph alone. `clock`: the system's."""
    return SqliteStore(settings.database, clock or SystemClock())


def laptop_files(settings: Settings) -> SqliteFiles:
    """The database as a whole."""
    return SqliteFiles(settings.database)


def laptop_engine(settings: Settings, give_way: Callable[[], Awaitable[None]] = turn_of_others,
                  clock: Clock | None = None) -> Engine:
    """SQLite, NumPy, offline reasoner and fitted embedder: no server, no network, no key; or the reasoner that the settings
    name. `clock`: the system's."""
    store = laptop_store(settings, clock)
    holder, workflow = f"{socket.gethostname()}:{os.getpid()}", workflow_of(settings)
    return Engine(store, HashedEmbedder(workflow.seed), NumpyIndex(SqlitePoints(store.database)),
                  reasoner_of(settings, store, holder), workflow, holder=holder, give_way=give_way)
