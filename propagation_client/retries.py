"""The rule by which a failed call is tried again."""

import random
from dataclasses import dataclass

import grpc

from propagation_client.errors import CallFailed

PASSING = frozenset({grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.ABORTED})
# The service waited for a sequence until the deadline, so another attempt has no time left.
NOT_REACHED = "NOT_REACHED"
MOST_DOUBLINGS = 30


@dataclass(frozen=True)
class Retries:
    """Waits between the attempts of a call.

    Each wait is twice as long as the one before, less a random part of up to half of it. The random
    part keeps callers that failed together from trying again together. The call's deadline ends
    the attempts.

    Attributes:
        first_seconds: The wait after the first attempt, before the random part is taken off.
        longest_seconds: No wait is longer, unless the service asks for a longer one.
    """

    first_seconds: float = 0.1
    longest_seconds: float = 5.0

    def wait_after(self, failure: CallFailed, attempt: int) -> float | None:
        """Return the seconds until the next attempt.

        To a caller above its rate limit the service names a wait, and the usual wait is added.

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
