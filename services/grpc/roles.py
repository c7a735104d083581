"""Who asks. Until tokens exist, whoever reaches the service has all roles (DESIGN, "Guarantees")."""

from dataclasses import dataclass
from enum import StrEnum

from services.grpc.base import Context


class Role(StrEnum):
    WRITE = "write"
    READ = "read"
    ANALYST = "analyst"
    ADMIN = "admin"


@dataclass(frozen=True)
class Caller:
    """The roles of one call."""

    roles: frozenset[Role]

    @property
    def sees_users(self) -> bool:
        """Users by id; a caller without it sees counts."""
        return Role.ANALYST in self.roles


def caller_of(context: Context) -> Caller:
    return Caller(frozenset(Role))
