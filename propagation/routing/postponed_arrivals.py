"""Arrivals that wait at routers whose summary failed, until the next round."""

from collections.abc import Callable
from dataclasses import dataclass, field

import orjson

from propagation.routing.policy import Arrival, ArrivalsByRouter


@dataclass(frozen=True)
class PostponedArrivals:
    """Arrivals that wait, by router, with the epoch of these routers."""

    epoch: int = 0
    groups: ArrivalsByRouter = field(default_factory=dict)

    @classmethod
    def unpack(cls, blob: bytes | None) -> "PostponedArrivals":
        """Read what `pack` wrote; None: nothing waits."""
        if blob is None:
            return cls()
        epoch, rows = orjson.loads(blob)
        return cls(epoch, {router: [Arrival(*row) for row in group] for router, group in rows})

    def pack(self) -> bytes:
        """Pack them for the store."""
        rows = [
            (router, [(a.attribute, a.ref, a.profile_version, a.sequence) for a in group])
            for router, group in self.groups.items()
        ]
        return orjson.dumps((self.epoch, rows))

    def filtered(self, keep: Callable[[Arrival], bool]) -> "PostponedArrivals":
        """Return those that `keep` accepts; a router without any is left out."""
        groups = {router: list(filter(keep, group)) for router, group in self.groups.items()}
        return PostponedArrivals(
            self.epoch, {router: group for router, group in groups.items() if group}
        )
