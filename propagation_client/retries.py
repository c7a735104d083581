"""The rule by which a failed call is tried again."""

import random
from dataclasses import dataclass

import grpc

from propagation_client.errors import CallFailed

PASSING = frozenset({grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.ABORTED})
# The service has waited for a sequence until the deadline: another attempt has no time to.
NOT_REACHED = "NOT_REACHED"
MOST_DOUBLINGS = 30


@dataclass(frozen=True)
class Retries:
    """Waits between the attempts of a call, which end with its deadline.

    Each wait is twice as long as the one before. A random part of up to half of it keeps callers
    that failed together from trying again together.

    Attributes:
        first_seconds: The wait after the first attempt.
        longest_seconds: No wait is longer, unless the service asks for it.
    """

    first_seconds: float = 0.1
    longest_seconds: float = 5.0

    def wait_after(self, failure: CallFailed, attempt: int) -> float | None:
        """Return the seconds until the next attempt.

        The service says itself how long a caller above its rate limit has to wait.

        Args:
            attempt: The number of the attempt that failed, from 0.

        Returns:
            None if another attempt would fail in the same way.
        """
        doubled = self.first_seconds * 2 ** min(attempt, MOST_DOUBLINGS)
        wait: float = min(doubled, self.longest_seconds) * random.uniform(0.5, 1.0)
        if failure.code() in PASSING and failure.reason != NOT_REACHED:
            return wait
        if failure.code() == grpc.StatusCode.RESOURCE_EXHAUSTED:
            asked = failure.retry_seconds
            return None if asked is None else asked + wait
        return None
