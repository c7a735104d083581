"""Locks, leases, background tasks and caches that all rooms of the workflow use."""

from propagation.workflow.concurrency.exclusion import (
    Activity,
    CommitLock,
    Exclusion,
    ReadersWriterLock,
)
from propagation.workflow.concurrency.leases import LEARN_LEASE, ROUND_LEASE, WAIT_SECONDS, Leases
from propagation.workflow.concurrency.lru_cache import LruCache
from propagation.workflow.concurrency.tasks import background_task, keep_renewing, yield_to_loop

__all__ = [
    "LEARN_LEASE",
    "ROUND_LEASE",
    "WAIT_SECONDS",
    "Activity",
    "CommitLock",
    "Exclusion",
    "Leases",
    "LruCache",
    "ReadersWriterLock",
    "background_task",
    "keep_renewing",
    "yield_to_loop",
]
