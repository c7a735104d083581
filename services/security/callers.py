"""Who asks, and which role each RPC needs (DESIGN, "Guarantees")."""

from collections.abc import Iterable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass

from services.grpc.handlers.servicer import Context
from services.runtime.errors import NotAllowed
from services.security.roles import Role

ALL_ROLES = frozenset(Role)
INCLUDED: Mapping[Role, frozenset[Role]] = {
    Role.ANALYST: frozenset({Role.READ}),
    Role.ADMIN: frozenset({Role.WRITE, Role.READ}),
}
SERVICE = "/propagation.v1.PropagationService/"
OPEN = frozenset({"/grpc.health.v1.Health/Check", "/grpc.health.v1.Health/Watch"})
"""For load balancers, which have no token."""
NEEDED: Mapping[str, Role] = {
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


def needed_role(method: str) -> Role | None:
    """Of a full method name; None: any token will do (reflection). An RPC that is not listed is an
    operator's."""
    return (
        NEEDED.get(method.removeprefix(SERVICE), Role.ADMIN) if method.startswith(SERVICE) else None
    )


@dataclass(frozen=True)
class Caller:
    """The roles of one call. `name`: of its token, or its address; what limits count by."""

    roles: frozenset[Role]
    name: str = ""

    @classmethod
    def of_token(cls, name: str, roles: Iterable[Role]) -> "Caller":
        given = frozenset(roles)
        return cls(given.union(*(INCLUDED.get(role, frozenset()) for role in given)), name)

    @property
    def sees_users(self) -> bool:
        """Users by id; a caller without it sees counts."""
        return Role.ANALYST in self.roles

    @property
    def sees_places(self) -> bool:
        """Where the service keeps what it keeps: files, servers."""
        return Role.ADMIN in self.roles

    def needs(self, role: Role, what: str) -> None:
        """Raises NotAllowed."""
        if role not in self.roles:
            raise NotAllowed(what, role.value)


calling: ContextVar[Caller] = ContextVar("calling")


def caller_of(context: Context) -> Caller:
    """Whoever the door let in to make this call. Raises LookupError outside of a guarded call."""
    return calling.get()
