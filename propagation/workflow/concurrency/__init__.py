"""Locks, leases and background tasks that all rooms of the workflow use."""

from propagation.workflow.concurrency.exclusion import (
    Activity,
    CommitLock,
    Exclusion,
)
from propagation.workflow.concurrency.leases import (
    DESCRIBE_LEASE,
    LEARN_LEASE,
    ROUND_LEASE,
    WAIT_SECONDS,
    Leases,
    keep_renewing,
    run_in_background,
    run_to_end,
    yield_to_loop,
)
