"""The time of each call, by RPC and status code."""

import time
from collections.abc import Awaitable, Callable
from typing import Any

import grpc
from prometheus_client import Histogram

NAMES = {code.value[0]: code.name for code in grpc.StatusCode}


class RpcTiming(grpc.aio.ServerInterceptor):  # type: ignore[type-arg]  # generic in its stubs only
    """Observes the time of each call.

    It stands before the service's own interceptor, whose handlers are all awaited until their end.
    """

    def __init__(self, seconds: Histogram) -> None:
        self._seconds = seconds

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Any]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> Any:
        """Wrap the handler of a call."""
        handler = await continuation(handler_call_details)
        if handler is None:
            return None
        rpc = handler_call_details.method.rpartition("/")[2]
        request = "stream" if handler.request_streaming else "unary"
        response = "stream" if handler.response_streaming else "unary"
        kind = f"{request}_{response}"
        make = getattr(grpc, f"{kind}_rpc_method_handler")
        return make(
            self._timed(getattr(handler, kind), rpc),
            handler.request_deserializer,
            handler.response_serializer,
        )

    def _timed(
        self, call: Callable[[Any, Any], Awaitable[Any]], rpc: str
    ) -> Callable[[Any, Any], Awaitable[Any]]:
        async def timed(request: Any, context: Any) -> Any:
            start = time.perf_counter()
            try:
                return await call(request, context)
            finally:
                self._seconds.labels(rpc, _name(context.code())).observe(
                    time.perf_counter() - start
                )

        return timed


def _name(code: Any) -> str:
    if isinstance(code, grpc.StatusCode):
        return code.name
    return NAMES.get(code or 0, "UNKNOWN")
