"""The base of all handlers, and the waits that reads share."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import grpc

from propagation.model import Client, ClientKey, ClientKind, InvalidInput, NotFound
from propagation.v1 import propagation_pb2 as pb
from propagation.workflow.engine import Engine
from services.config.sources import LoadedSettings
from services.security.roles import Role, admitted_caller
from services.worker.worker import Worker

Context = grpc.aio.ServicerContext[Any, Any]
DEFAULT_WAIT_SECONDS = 30.0
WAIT_SHARE = 0.9  # of the caller's deadline; the rest is for the answer


def require_reading_of(key: ClientKey, operation: str) -> None:
    """Raise NotAllowed if the caller may not read this user.

    Reading users needs the role persons.
    """
    if key.kind == ClientKind.USER:
        admitted_caller.get().require(f"{operation} of a user", Role.PERSONS)


class Servicer:
    """Validates a request, asks the engine, and converts the result; decides nothing.

    `stopping` is set when the service stops, so that streams end. `redact` hides the service's
    files and servers in texts for callers without the role admin.
    """

    def __init__(
        self,
        engine: Engine,
        worker: Worker,
        loaded: LoadedSettings,
        redact: Callable[[str], str] = str,
    ) -> None:
        self._engine = engine
        self._store, self._time_travel = engine.store, engine.time_travel
        self._worker = worker
        self._loaded = loaded
        self._redact = redact
        self.stopping = asyncio.Event()

    def _get_least_users(self, exempt: Role = Role.ANALYST, *, past: bool = False) -> int:
        """Return how many users must stand behind what the caller sees.

        See Caller.least_users. The caller is that of the running call.
        """
        return admitted_caller.get().least_users(
            self._engine.settings.min_support, exempt, past=past
        )

    async def _find_unlisted(self, clients: Sequence[Client]) -> frozenset[int]:
        """Find the items (refs) that the caller may not know of.

        See Engine.find_unlisted.
        """
        return await self._engine.find_unlisted(clients, self._get_least_users())

    async def _find_ref(self, key: ClientKey) -> int:
        """Return the ref of a client whom the caller may see.

        Every call that names a client finds it here.

        Raises:
            NotFound: There is no such client, or the caller may not know of it.
        """
        ref = await self._engine.find_any_ref(key)
        rare = await self._engine.find_rarely_chosen([ref], self._get_least_users())
        if rare and await self._find_unlisted(await self._store.get_clients([ref])):
            raise NotFound(key.kind.name.lower(), key.id)
        return ref

    async def _build_reflects(
        self, *, exact: bool = True, applied_through: int | None = None
    ) -> pb.Reflects:
        """Say how much of the log an answer reflects.

        Call this before the answer's data is read.

        Args:
            exact: Ask the store how far texts are reasoned; else the number may be 50 ms old.
            applied_through: The sequence that the read itself saw; None means that of the view.
        """
        if applied_through is None:
            applied_through = self._engine.applied_through
        return pb.Reflects(
            applied_through=applied_through,
            reasoned_through=await self._engine.get_reasoned_through(exact=exact),
        )

    async def _wait_for(self, request: Any, context: Context, *, texts: bool = False) -> None:
        """Wait until the numbers reflect the request's min_sequence, if any.

        Args:
            texts: Whether the texts must reflect it too.

        Raises:
            InvalidInput: min_sequence is negative.
            NotReached: min_sequence was not reached shortly before the caller's deadline.
        """
        if not request.HasField("min_sequence"):
            return
        if request.min_sequence < 0:
            raise InvalidInput(
                "min_sequence",
                f"is {request.min_sequence}; give a sequence of an earlier answer, or leave it out",
            )
        await self._worker.wait_until_applied(
            request.min_sequence, count_seconds_left(context), texts=texts
        )

    def _should_propagate(self, request: pb.GetProfileRequest | pb.RecommendRequest) -> bool:
        """Return the request's `propagate`, or the setting if it is absent."""
        return request.propagate if request.HasField("propagate") else self._engine.propagates


def count_seconds_left(context: Context) -> float:
    """Return 90% of the seconds until the caller's deadline; 30 without one."""
    seconds = context.time_remaining()
    return WAIT_SHARE * seconds if seconds is not None else DEFAULT_WAIT_SECONDS
