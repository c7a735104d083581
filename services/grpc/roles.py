"""Who asks, and what they may. `Guard` finds out who calls (`CallerOf`, the seam that tokens fill) and remembers it for the
call. Until tokens exist, whoever reaches the service has all roles (DESIGN, "Guarantees")."""

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from enum import StrEnum

from services.errors import NotAllowed
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

    def needs(self, role: Role, what: str) -> None:
        """Raises NotAllowed."""
        if role not in self.roles:
            raise NotAllowed(what, role)


CallerOf = Callable[[Context], Caller]
EVERYTHING = Caller(frozenset(Role))
calling: ContextVar[Caller] = ContextVar("calling")


def anybody(context: Context) -> Caller:
    """Loopback without tokens: all roles."""
    return EVERYTHING


def caller_of(context: Context) -> Caller:
    """Whoever `Guard` found to make this call. Raises LookupError outside of a guarded call."""
    return calling.get()
