"""Around every call: who calls, a request id, no work past the deadline, and errors as statuses."""

import asyncio
import contextlib
import re
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from functools import partial
from typing import Any, NoReturn

import grpc
import structlog
from google.protobuf.message import DecodeError, Message

from propagation.model.errors import InvalidInput, PropagationError
from services.config.path_redaction import PathRedaction
from services.grpc.handlers.servicer import Context
from services.grpc.status import DETAILS_KEY, status_of, unexpected
from services.runtime.errors import OutOfTime
from services.runtime.measurements import Timings
from services.runtime.readiness import Readiness
from services.security.admission import Admission, Metadata
from services.security.rate_limits import RateLimits
from services.security.roles import SERVICE_PREFIX, admitted_caller
from services.worker.call_priority import CallPriority

# No call is answered in less: what would be done in it, the caller would not learn of.
LEAST_SECONDS = 0.005
ADMITTED_SECONDS = 1.0
REQUEST_ID = re.compile(r"[\w.:/+=-]{1,128}", re.ASCII)
Enter = Callable[[Any, Context], Any]
log = structlog.get_logger()


def request_id_of(details: grpc.HandlerCallDetails) -> str:
    """The caller's x-request-id where it is harmless, else a new one."""
    for key, value in details.invocation_metadata or ():
        if key == "x-request-id" and isinstance(value, str) and REQUEST_ID.fullmatch(value):
            return value
    return uuid.uuid4().hex


class Guard(grpc.aio.ServerInterceptor):  # type: ignore[type-arg]  # generic in its stubs only
    """No stack trace reaches a client, and no user text or token a log. `door` says who comes in;
    `priority` knows of every call that waits for its answer, and `timings` how long each took
    (streams, which last as long as their callers like, left out); `redaction` are told to operators
    alone."""

    def __init__(
        self,
        priority: CallPriority,
        timings: Timings,
        admission: Admission,
        readiness: Readiness,
        redaction: PathRedaction,
    ) -> None:
        self._priority = priority
        self._redaction = redaction
        self._readiness = readiness
        self._timings = timings
        self._admission = admission

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Any]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> Any:
        handler = await continuation(handler_call_details)
        if handler is None:
            return None
        method, request_id = handler_call_details.method, request_id_of(handler_call_details)
        enter = _entering(
            self._admission, self._readiness, method, handler_call_details.invocation_metadata or ()
        )
        parse = _parsing(handler.request_deserializer, streaming=handler.request_streaming)
        if not handler.response_streaming:
            make, call = (
                (grpc.stream_unary_rpc_method_handler, handler.stream_unary)
                if handler.request_streaming
                else (grpc.unary_unary_rpc_method_handler, handler.unary_unary)
            )
            answering = _answering(
                call, method, request_id, self._priority, self._timings, enter, self._redaction
            )
            return make(answering, parse, handler.response_serializer)
        make, call = (
            (grpc.stream_stream_rpc_method_handler, handler.stream_stream)
            if handler.request_streaming
            else (grpc.unary_stream_rpc_method_handler, handler.unary_stream)
        )
        still = partial(
            self._admission.identify, method, handler_call_details.invocation_metadata or ()
        )
        return make(
            _streaming(call, method, request_id, enter, still, self._redaction),
            parse,
            handler.response_serializer,
        )


def _entering(admission: Admission, readiness: Readiness, method: str, metadata: Metadata) -> Enter:
    """Says who calls, or raises, also where a call of ours comes before the service is open; gives
    back the request, metered where sizes are limited: a call that is too much is refused, a stream
    waits."""

    def enter(request: Any, context: Context) -> Any:
        caller = admission.admit(method, metadata, context.peer())
        admitted_caller.set(caller)
        if method.startswith(SERVICE_PREFIX):
            readiness.require()
        if not admission.limits.limits_bytes or request is None:
            return request
        if isinstance(request, Message):
            admission.limits.take_message(caller.name, request.ByteSize())
            return request
        return _paced(request, admission.limits, caller.name)

    return enter


async def _paced(
    requests: AsyncIterator[Message], limits: RateLimits, client: str
) -> AsyncIterator[Message]:
    async for request in requests:
        wait = limits.message_wait(client, request.ByteSize())
        while wait:  # time alone brings it
            await asyncio.sleep(wait)
            wait = limits.message_wait(client, request.ByteSize())
        yield request


def _parsing(parse: Callable[[bytes], Any], *, streaming: bool) -> Callable[[bytes], Any]:
    """Bytes that are no message of this call (broken, or a text that is not UTF-8) are bad input,
    and not grpc's own error: None for a call, which refuses it; in a stream an empty message, which
    is rejected in its place while the stream goes on."""

    def parsed(data: bytes) -> Any:
        try:
            return parse(data)
        except DecodeError:
            return parse(b"") if streaming else None

    return parsed


def _answering(
    call: Callable[[Any, Context], Awaitable[Any]],
    method: str,
    request_id: str,
    priority: CallPriority,
    timings: Timings,
    enter: Enter,
    redaction: PathRedaction,
) -> Callable[..., Awaitable[Any]]:
    name = method.rpartition("/")[2]

    async def guarded(request: Any, context: Context) -> Any:
        with (
            priority.call(),
            timings.timed(name),
            structlog.contextvars.bound_contextvars(request_id=request_id),
        ):
            try:
                request = enter(request, context)
                _in_time(context)
                if request is None:
                    raise InvalidInput(
                        "request",
                        "is not a message of this call: its bytes are broken, or a text is not UTF-8",
                    )
                return await call(request, context)
            except Exception as error:
                await _fail(error, context, method, request_id, redaction)

    return guarded


def _streaming(
    call: Callable[[Any, Context], AsyncGenerator[Any, None] | Awaitable[None]],
    method: str,
    request_id: str,
    enter: Enter,
    still: Callable[[str], object],
    redaction: PathRedaction,
) -> Callable[..., Any]:
    """A generator of answers; or, as grpc's health service has it, a coroutine that writes them
    itself."""

    async def guarded(request: Any, context: Context) -> None:
        with structlog.contextvars.bound_contextvars(request_id=request_id):
            try:
                request = enter(request, context)
                _in_time(context)
                async with _while_admitted(partial(still, context.peer())):
                    answering = call(request, context)
                    if isinstance(answering, Awaitable):
                        return await answering
                    async with contextlib.aclosing(answering) as answers:
                        async for answer in answers:
                            await context.write(answer)
            except Exception as error:
                await _fail(error, context, method, request_id, redaction)

    return guarded


@contextlib.asynccontextmanager
async def _while_admitted(still: Callable[[], object]) -> AsyncIterator[None]:
    """Cuts the body short when its caller may do this no more; looked at every second. Raises what
    `still` raised."""
    streaming, refused = asyncio.current_task(), list[PropagationError]()

    async def look() -> None:
        while not refused:
            await asyncio.sleep(ADMITTED_SECONDS)
            try:
                still()
            except PropagationError as error:
                refused.append(error)
        if streaming is not None:
            streaming.cancel()

    looking = asyncio.create_task(look())
    try:
        yield
    except asyncio.CancelledError:
        if refused and streaming is not None and not streaming.uncancel():
            raise refused[0] from None
        raise
    finally:
        looking.cancel()


def _in_time(context: Context) -> None:
    """Raises OutOfTime. One whose deadline passes while it is told so can no longer be told."""
    left = context.time_remaining()
    if left is not None and left < LEAST_SECONDS:
        raise OutOfTime


async def _fail(
    error: Exception, context: Context, method: str, request_id: str, redaction: PathRedaction
) -> NoReturn:
    """Ends the call with what went wrong. grpc's own errors say that the call is over already: its
    caller left, or its deadline passed, and nobody is there to be told."""
    if isinstance(error, grpc.aio.AbortError):
        raise error
    if isinstance(error, grpc.aio.BaseError):
        _unheard(method, error)
    if isinstance(error, PropagationError):
        caller = admitted_caller.get(None)
        code, status = status_of(
            error, str if caller is not None and caller.sees_places else redaction.redact
        )
        log.info("request refused", method=method, code=code.name, error=type(error).__name__)
    else:
        code, status = unexpected(request_id)
        log.error("request failed", method=method, exc_info=error)
    try:
        await context.abort(code, status.message, ((DETAILS_KEY, status.SerializeToString()),))
    except grpc.aio.AbortError:
        raise
    except grpc.aio.BaseError as late:
        _unheard(method, late)
    raise asyncio.CancelledError


def _unheard(method: str, error: grpc.aio.BaseError) -> NoReturn:
    """Cancelled, which grpc does not log, where another error would be a fault of the service to
    it."""
    log.info("nobody to answer", method=method, error=type(error).__name__)
    raise asyncio.CancelledError
