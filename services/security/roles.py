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

    `application` records and recommends for the users that it names; `write` records; `read` sees
    items, counts, routers and status; `persons` also reads profiles, recommendations, traces and
    events of users that it names; `analyst` does so and sees users by id; `admin` operates.
    """

    APPLICATION = "application"
    WRITE = "write"
    READ = "read"
    PERSONS = "persons"
    ANALYST = "analyst"
    ADMIN = "admin"


ALL_ROLES = frozenset(Role)
MORE_USERS_THAN_ANY = 1 << 31  # no line, item or edge has as many behind it
INCLUDED_ROLES: Mapping[Role, frozenset[Role]] = {
    Role.PERSONS: frozenset({Role.READ}),
    Role.ANALYST: frozenset({Role.PERSONS, Role.READ}),
    Role.ADMIN: frozenset({Role.APPLICATION, Role.WRITE, Role.PERSONS, Role.READ}),
}
SERVICE_PREFIX = "/propagation.v1.PropagationService/"
RECORDING = (Role.APPLICATION, Role.WRITE)
# Each of the roles suffices.
ROLES_BY_CALL: Mapping[str, tuple[Role, ...]] = {
    "UpsertClients": (Role.WRITE,),
    "RecordInteractions": RECORDING,
    "StreamInteractions": RECORDING,
    "RetractInteractions": (Role.WRITE,),
    "GetProfile": (Role.READ,),
    "ListProfileVersions": (Role.READ,),
    "Recommend": (Role.APPLICATION, Role.PERSONS),
    "SimilarClients": (Role.READ,),
    "ListRouters": (Role.READ,),
    "GetRouter": (Role.READ,),
    "ListRouterVersions": (Role.READ,),
    "TracePropagation": (Role.READ,),
    "WatchPropagation": (Role.READ,),
    "GetStatus": (Role.READ,),
    "ListEvolutionRuns": (Role.READ,),
    "ListOperations": (Role.READ,),
    "GetMeasurements": (Role.READ,),
    "SearchClients": (Role.READ,),
    "ListClientEvents": (Role.ADMIN,),
    "RunRound": (Role.ADMIN,),
    "EvolveRouters": (Role.ADMIN,),
    "ListDeadLetters": (Role.ADMIN,),
    "ReplayDeadLetters": (Role.ADMIN,),
    "GetSettings": (Role.ADMIN,),
    "ExportClient": (Role.ADMIN,),
    "ForgetClient": (Role.ADMIN,),
}


def list_required_roles(method: str) -> tuple[Role, ...]:
    """List the roles that may call a method.

    Args:
        method: The full name, /package.Service/Call.

    Returns:
        Empty if any token suffices (reflection). A call of the service that is not listed needs
        ADMIN.
    """
    if not method.startswith(SERVICE_PREFIX):
        return ()
    return ROLES_BY_CALL.get(method.removeprefix(SERVICE_PREFIX), (Role.ADMIN,))


@dataclass(frozen=True)
class Caller:
    """The roles of one call's caller.

    Attributes:
        name: The name of the token or, without tokens, the address; rate limits count by it.
    """

    roles: frozenset[Role]
    name: str = ""

    @classmethod
    def of_token(cls, name: str, roles: Iterable[Role]) -> "Caller":
        """Build a token's caller, with its roles and those they include."""
        own = frozenset(roles)
        return cls(own.union(*(INCLUDED_ROLES.get(role, frozenset()) for role in own)), name)

    @property
    def sees_users(self) -> bool:
        """Whether answers name users by id; otherwise they give counts."""
        return Role.ANALYST in self.roles

    @property
    def reads_model_errors(self) -> bool:
        """Whether answers show the messages of a model's server.

        Such a message may quote the texts of any user.
        """
        return not self.roles.isdisjoint((Role.ANALYST, Role.ADMIN))

    def least_users(
        self, min_support: int, exempt: Role = Role.ANALYST, *, past: bool = False
    ) -> int:
        """Return how many users must stand behind what the caller is shown.

        Args:
            min_support: The setting.
            exempt: The role that is shown everything.
            past: Whether the caller asks how things were. How many users stood behind them then is
                not kept, and it may have been a single one of today's users; so no number suffices.
        """
        if exempt in self.roles:
            return 0
        return MORE_USERS_THAN_ANY if past else min_support

    def require(self, operation: str, *roles: Role) -> None:
        """Raise NotAllowed if the caller has none of the roles."""
        if self.roles.isdisjoint(roles):
            raise NotAllowed(operation, " or ".join(roles))


NOBODY = Caller(frozenset())
admitted_caller: ContextVar[Caller] = ContextVar("admitted_caller", default=NOBODY)
"""The caller of the running call; before the interceptor has admitted it, NOBODY."""


def choose_redaction_for_caller(redact: Callable[[str], str]) -> Callable[[str], str]:
    """Return `redact`, or `str` for an admin's call.

    Answers to an admin name files and servers.
    """
    return str if Role.ADMIN in admitted_caller.get().roles else redact
