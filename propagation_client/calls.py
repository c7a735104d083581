"""Interceptors that give calls a deadline, retries and readable failures."""

import asyncio
import itertools
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import grpc

from propagation_client.errors import explain
from propagation_client.retries import Retries

LONG_SECONDS = 3_600.0
# They take as long as there is work, and are sent once: a repeated call would act twice.
LONG = frozenset({"RunRound", "EvolveRouters", "ForgetClient", "ExportClient"})
# These streams last until the caller or the service ends them.
ENDLESS = frozenset({"WatchPropagation", "StreamInteractions"})


@dataclass(frozen=True)
class CallRules:
    """The deadline and the retries of calls to one service.

    Attributes:
        address: HOST:PORT of the service, named in failures.
        timeout: Seconds for a call with all its attempts; None: no deadline.
        retries: The waits between attempts; None: each call is sent once.
    """

    address: str
    timeout: float | None
    retries: Retries | None

    def choose_seconds(self, call: str) -> float | None:
        """Return a call's default deadline in seconds; None: no deadline.

        Args:
            call: The name of the call without its service, such as GetStatus.
        """
        if self.timeout is None or call in ENDLESS:
            return None
        return max(self.timeout, LONG_SECONDS) if call in LONG else self.timeout

    def choose_retries(self, call: str) -> Retries | None:
        """Return a call's retries, or None if it is sent once."""
        return None if call in LONG else self.retries

    def interceptors(self) -> list[Any]:
        """Return an interceptor for each kind of call that the service has."""
        return [kind(self) for kind in (_UnaryUnary, _UnaryStream, _StreamStream)]


class _Interceptor:
    def __init__(self, rules: CallRules) -> None:
        self._rules = rules

    def _choose_timeout(self, details: Any) -> float | None:
        """Return the caller's own timeout, or that of the rules."""
        if details.timeout is not None:
            return float(details.timeout)
        return self._rules.choose_seconds(_name(details))

    async def _run_stream(self, continuation: Any, client_call_details: Any, requests: Any) -> Any:
        timeout = self._choose_timeout(client_call_details)
        call = await continuation(client_call_details._replace(timeout=timeout), requests)
        return self._answers(call)

    async def _answers(self, call: Any) -> AsyncIterator[Any]:
        try:
            async for answer in call:
                yield answer
        except grpc.aio.AioRpcError as error:
            raise explain(error, self._rules.address) from error


class _UnaryUnary(_Interceptor, grpc.aio.UnaryUnaryClientInterceptor):  # type: ignore[type-arg]  # generic in its stubs only
    async def intercept_unary_unary(
        self, continuation: Any, client_call_details: Any, request: Any
    ) -> Any:
        """Try a call until an attempt succeeds; return that attempt.

        Raises:
            CallFailed: An attempt failed, and another one is not allowed or has no time left.
        """
        retries = self._rules.choose_retries(_name(client_call_details))
        timeout = self._choose_timeout(client_call_details)
        end = None if timeout is None else time.monotonic() + timeout
        earlier = None
        for attempt in itertools.count():
            left = None if end is None else end - time.monotonic()
            call = await continuation(client_call_details._replace(timeout=left), request)
            try:
                await call
            except grpc.aio.AioRpcError as error:
                failure = explain(error, self._rules.address)
                if earlier and failure.code() == grpc.StatusCode.DEADLINE_EXCEEDED:
                    failure = earlier  # it says more than that the time ran out
                wait = retries.wait_after(failure, attempt) if retries else None
                if wait is None or (end is not None and time.monotonic() + wait >= end):
                    raise failure from error
                earlier = failure
                await asyncio.sleep(wait)
            else:
                return call


class _UnaryStream(_Interceptor, grpc.aio.UnaryStreamClientInterceptor):  # type: ignore[type-arg]
    intercept_unary_stream: Any = _Interceptor._run_stream


class _StreamStream(_Interceptor, grpc.aio.StreamStreamClientInterceptor):  # type: ignore[type-arg]
    intercept_stream_stream: Any = _Interceptor._run_stream


def _name(details: Any) -> str:
    """Return the call's name without its service."""
    method = details.method
    return str(method.decode() if isinstance(method, bytes) else method).rpartition("/")[2]
