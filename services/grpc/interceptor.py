"""The interceptor of all calls: admission, a request id, and error statuses."""

import asyncio
import contextlib
import math
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from random import getrandbits
from typing import Any, NoReturn

import grpc
import structlog
from google.protobuf.message import DecodeError, Message

from propagation.model import InvalidInput, PropagationError
from propagation.workflow.concurrency import run_in_background
from services.grpc.handlers.servicer import Context
from services.grpc.status import DETAILS_KEY, build_status, create_internal_status
from services.runtime.errors import AnswerTooLarge, OutOfTime
from services.runtime.measurements import Timings
from services.runtime.readiness import Readiness
from services.security.admission import Admission, Metadata, find_delay
from services.security.rate_limits import TokenBuckets
from services.security.roles import SERVICE_PREFIX, admitted_caller, choose_redaction_for_caller
from services.worker.call_priority import CallPriority

SHORTEST_CALL_SECONDS = 0.005  # no call is faster: an answer would come after the deadline
RECHECK_SECONDS = 1.0  # how often a stream checks that its token is still valid
REFUSED_STREAM_SECONDS = 1.0  # how long the requests of a refused stream are still read
REQUEST_ID = re.compile(r"[\w.:/+=-]{1,128}", re.ASCII)
# Keys: whether the requests are a stream, and whether the answers are.
HANDLERS: dict[tuple[bool, bool], Callable[..., Any]] = {
    (False, False): grpc.unary_unary_rpc_method_handler,
    (False, True): grpc.unary_stream_rpc_method_handler,
    (True, False): grpc.stream_unary_rpc_method_handler,
    (True, True): grpc.stream_stream_rpc_method_handler,
}
CODE_NAMES = {code.value[0]: code.name for code in grpc.StatusCode}
CallObserver = Callable[[str, str, float], None]
"""Takes the name of an RPC, the name of its status code, and its seconds."""
log = structlog.get_logger()


@dataclass
class CallInterceptor(grpc.aio.ServerInterceptor):  # type: ignore[type-arg]  # generic in its stubs only
    """Wraps each handler.

    No stack trace reaches a caller, and no text or token reaches a log.

    Attributes:
        most_bytes: The largest answer that is sent, in bytes.
    """

    priority: CallPriority
    timings: Timings
    admission: Admission
    readiness: Readiness
    redact: Callable[[str], str]
    most_bytes: int
    observe: CallObserver | None = None
    _handlers: dict[str, Any] = field(default_factory=dict, init=False)

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Any]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> Any:
        method = handler_call_details.method
        if method not in self._handlers:
            handler = await continuation(handler_call_details)
            if handler is None:
                return None
            self._handlers[method] = self._wrap(method, handler)
        return self._handlers[method]

    def _wrap(self, method: str, handler: Any) -> Any:
        """Return a handler whose calls are intercepted."""
        handle = (
            handler.unary_unary
            or handler.unary_stream
            or handler.stream_unary
            or handler.stream_stream
        )

        async def answer(request: Any, context: Context) -> Any:
            call = InterceptedCall(self, method, handle, context)
            return await call.answer(request, handler.response_serializer)

        async def stream(request: Any, context: Context) -> None:
            await InterceptedCall(self, method, handle, context).stream(request)

        return HANDLERS[handler.request_streaming, handler.response_streaming](
            stream if handler.response_streaming else answer,
            _build_parser(handler.request_deserializer, streaming=handler.request_streaming),
            # A single answer is serialized above, because gRPC says of one that is too large what
            # no caller understands.
            handler.response_serializer if handler.response_streaming else None,
        )


class InterceptedCall:
    """One call: its handler, and the steps before and after it."""

    def __init__(
        self,
        interceptor: CallInterceptor,
        method: str,
        handle: Callable[[Any, Context], Any],
        context: Context,
    ) -> None:
        self._start = time.perf_counter()
        self._interceptor = interceptor
        self._method = method
        self._handle = handle
        self._context = context
        self._metadata: Metadata = context.invocation_metadata() or ()
        self._request_id = request_id_of(self._metadata)
        # A call has a task of its own, and so a context of its own.
        structlog.contextvars.bind_contextvars(request_id=self._request_id)

    async def answer(self, request: Any, serialize: Callable[[Any], bytes]) -> Any:
        """Run a handler that returns one answer; return its bytes."""
        try:
            with self._interceptor.priority.call():
                answer = serialize(await self._handle(self._admit(request), self._context))
            if len(answer) > self._interceptor.most_bytes:
                raise AnswerTooLarge(len(answer), self._interceptor.most_bytes)
            return answer
        except Exception as error:
            await self._end(error)
        finally:
            self._interceptor.timings[self._name].add(self._observe())

    async def stream(self, request: Any) -> None:
        """Run a handler that streams its answers.

        The handler runs as long as its caller stays admitted. Its time is not among the timings:
        the caller decides how long it lasts.
        """
        try:
            await self._stream(request)
        except Exception as error:
            await self._end(error)
        finally:
            self._observe()

    async def _stream(self, request: Any) -> None:
        try:
            request = self._admit(request)
        except PropagationError:
            await _read_to_end(request)
            raise
        async with run_in_background(self._write_answers(request)) as streaming:
            while not streaming.done():
                self._interceptor.admission.identify(
                    self._method, self._metadata, self._context.peer()
                )
                await asyncio.wait((streaming,), timeout=RECHECK_SECONDS)
            streaming.result()

    async def _write_answers(self, request: Any) -> None:
        answering = self._handle(request, self._context)
        if isinstance(answering, Awaitable):  # grpc's health service writes its answers itself
            await answering
            return
        async with contextlib.aclosing(answering) as answers:
            async for answer in answers:
                await self._context.write(answer)

    def _admit(self, request: Any) -> Any:
        """Identify the caller, apply its limits, and check the deadline.

        Returns:
            The request; a stream of requests is slowed down to the caller's limit of bytes.
        """
        admission = self._interceptor.admission
        caller = admission.admit(self._method, self._metadata, self._context.peer())
        admitted_caller.set(caller)
        if self._method.startswith(SERVICE_PREFIX):
            self._interceptor.readiness.require()
        buckets = admission.bytes
        if buckets.rate is not None and isinstance(request, Message):
            buckets.take(caller.name, request.ByteSize())
        elif buckets.rate is not None and request is not None:
            request = _slow_down(request, buckets, caller.name)
        if request is None:
            raise InvalidInput(
                "request",
                "is not a message of this call: its bytes are malformed, or a text is not UTF-8",
            )
        refuse_late_call(self._context)
        return request

    @property
    def _name(self) -> str:
        """The name of the RPC."""
        return self._method.rpartition("/")[2]

    def _observe(self) -> float:
        """Note how the call ended.

        Returns:
            The seconds that it took, without delays of ours.
        """
        seconds = time.perf_counter() - self._start
        if self._interceptor.observe is not None:
            self._interceptor.observe(self._name, _name_code(self._context), seconds)
        return seconds

    async def _end(self, error: Exception) -> NoReturn:
        """End a failed call with its status.

        An error of grpc's own means that the call is over: its caller left, or its deadline passed.
        """
        await asyncio.sleep(delay := find_delay(error))
        self._start += delay
        if isinstance(error, grpc.aio.AbortError):
            raise error
        if isinstance(error, grpc.aio.BaseError):
            self._cancel(error)
        if isinstance(error, PropagationError):
            code, status = build_status(
                error, choose_redaction_for_caller(self._interceptor.redact)
            )
            log.info(
                "request refused", method=self._method, code=code.name, error=type(error).__name__
            )
        else:
            code, status = create_internal_status(self._request_id)
            log.error("request failed", method=self._method, exc_info=error)
        trailing = ((DETAILS_KEY, status.SerializeToString()),)
        try:
            await self._context.abort(code, status.message, trailing)
        except grpc.aio.AbortError:
            raise
        except grpc.aio.BaseError as late:
            self._cancel(late)
        raise asyncio.CancelledError

    def _cancel(self, error: grpc.aio.BaseError) -> NoReturn:
        """Raise CancelledError, which grpc does not log.

        grpc would log any other error as a fault.
        """
        log.info("the caller has left", method=self._method, error=type(error).__name__)
        raise asyncio.CancelledError


def request_id_of(metadata: Metadata) -> str:
    """Return the caller's x-request-id if it is harmless, otherwise a new id."""
    given = dict(metadata).get("x-request-id")
    if isinstance(given, str) and REQUEST_ID.fullmatch(given):
        return given
    return f"{getrandbits(128):032x}"


def _name_code(context: Context) -> str:
    code: Any = context.code()  # an enum, its number, or None while all is well
    return code.name if isinstance(code, grpc.StatusCode) else CODE_NAMES.get(code or 0, "UNKNOWN")


def refuse_late_call(context: Context) -> None:
    """Raise OutOfTime if the deadline leaves no time to answer."""
    seconds = context.time_remaining()
    if seconds is not None and seconds < SHORTEST_CALL_SECONDS:
        raise OutOfTime("the deadline had passed, or was about to; nothing was done")


def _build_parser(parse: Callable[[bytes], Any], *, streaming: bool) -> Callable[[bytes], Any]:
    """Return a parser of requests that treats malformed bytes as bad input.

    Otherwise grpc would answer with an error of its own. In a call with one request, malformed
    bytes become None, and the call is refused. In a stream they become an empty message: that one
    event is rejected, and the stream goes on.
    """

    def parse_or_replace(data: bytes) -> Any:
        try:
            return parse(data)
        except DecodeError:
            return parse(b"") if streaming else None

    return parse_or_replace


async def _read_to_end(request: Any) -> None:
    """Read the requests that a refused caller still sends, for a second.

    If a write fails, grpc.aio's clients report INTERNAL instead of the status that they got.
    """
    if isinstance(request, AsyncIterator):
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(REFUSED_STREAM_SECONDS):
                async for _ in request:
                    pass


async def _slow_down(
    requests: AsyncIterator[Message], buckets: TokenBuckets, client: str
) -> AsyncIterator[Message]:
    async for request in requests:
        await asyncio.sleep(buckets.take(client, request.ByteSize(), math.inf))
        yield request
