"""Roles, the role each call needs, and the running call's caller.

Source: docs/design.md, "Guarantees".
"""

from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from enum import StrEnum

from services.runtime.errors import NotAllowed


class Role(StrEnum):
    """A token's role.

    `read` sees items, counts and routers; `analyst` reads, and sees users by id; `admin` writes,
    reads and operates.
    """

    WRITE = "write"
    READ = "read"
    ANALYST = "analyst"
    ADMIN = "admin"


ALL_ROLES = frozenset(Role)
INCLUDED_ROLES: Mapping[Role, frozenset[Role]] = {
    Role.ANALYST: frozenset({Role.READ}),
    Role.ADMIN: frozenset({Role.WRITE, Role.READ}),
}
SERVICE_PREFIX = "/propagation.v1.PropagationService/"
ROLE_BY_CALL: Mapping[str, Role] = {
    "UpsertClients": Role.WRITE,
    "RecordInteractions": Role.WRITE,
    "StreamInteractions": Role.WRITE,
    "RetractInteractions": Role.WRITE,
    "GetProfile": Role.READ,
    "Recommend": Role.READ,
    "SimilarClients": Role.READ,
    "ListRouters": Role.READ,
    "GetRouter": Role.READ,
    "TracePropagation": Role.READ,
    "WatchPropagation": Role.READ,
    "GetStatus": Role.READ,
    "ListEvolutionRuns": Role.READ,
    "RunRound": Role.ADMIN,
    "EvolveRouters": Role.ADMIN,
    "ExportClient": Role.ADMIN,
    "ForgetClient": Role.ADMIN,
}


def required_role(method: str) -> Role | None:
    """Find the role that a method needs.

    Args:
        method: The full name, /package.Service/Call.

    Returns:
        None where any token will do (reflection). A call of the service that is not
        listed needs ADMIN.
    """
    if not method.startswith(SERVICE_PREFIX):
        return None
    return ROLE_BY_CALL.get(method.removeprefix(SERVICE_PREFIX), Role.ADMIN)


@dataclass(frozen=True)
class Caller:
    """The roles of one call's caller.

    Rate limits count by `name`: of the token, or the address.
    """

    roles: frozenset[Role]
    name: str = ""

    @classmethod
    def of_token(cls, name: str, roles: Iterable[Role]) -> "Caller":
        """Build a token's caller, with the roles that its roles include."""
        own = frozenset(roles)
        return cls(own.union(*(INCLUDED_ROLES.get(role, frozenset()) for role in own)), name)

    @property
    def sees_users(self) -> bool:
        """Whether answers name users by id; otherwise they give counts."""
        return Role.ANALYST in self.roles

    @property
    def sees_places(self) -> bool:
        """Whether answers name the service's files and servers."""
        return Role.ADMIN in self.roles

    def require(self, role: Role, operation: str) -> None:
        """Raise NotAllowed if the caller lacks the role."""
        if role not in self.roles:
            raise NotAllowed(operation, role.value)


admitted_caller: ContextVar[Caller] = ContextVar("admitted_caller")
"""The caller that the interceptor admitted to the running call."""


def redaction_for_caller(redact: Callable[[str], str]) -> Callable[[str], str]:
    """Return `redact`, or `str` if the running call's caller sees places."""
    caller = admitted_caller.get(None)
    return str if caller is not None and caller.sees_places else redact
