"""The connection of all visitors with one token."""

from dataclasses import dataclass, field

from propagation.v1 import propagation_pb2 as pb
from propagation_client import PropagationClient
from services.web.access.feed import SharedFeed


@dataclass(eq=False)
class Connection:
    """What the visitors with one token share.

    Attributes:
        audience: Names the token without telling it.
        client: The channel to the service, which sends the token.
        roles: The roles that the service last gave the token, included ones too.
        visitors: How many sessions use it.
        feed: The live state of the service, as the token sees it.
    """

    audience: str
    client: PropagationClient
    roles: frozenset[str] = frozenset()
    visitors: int = 0
    feed: SharedFeed = field(init=False)

    def __post_init__(self) -> None:
        self.feed = SharedFeed(self.client, self._note_roles)

    async def ask_roles(self) -> frozenset[str]:
        """Ask the service for the token's roles. Raises CallFailed."""
        self._note_roles(await self.client.stub.GetStatus(pb.GetStatusRequest()))
        return self.roles

    async def close(self) -> None:
        """End the feed, which calls through the client, then close the client."""
        await self.feed.close()
        await self.client.close()

    def _note_roles(self, status: pb.GetStatusResponse) -> None:
        self.roles = frozenset(status.caller_roles)
