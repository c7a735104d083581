"""Logs of a process: structlog's and the standard library's, on standard error."""

import io
import logging
import sys
from typing import Literal, TextIO

import structlog

from services.runtime.console import make_printable, make_printable_lines


def configure_logging(log_format: Literal["console", "json"]) -> None:
    """Set up logs on standard error, one event a line.

    Call this once per process. The logs are structlog's and the standard library's, with the id of
    the request. No line holds a token, a key or a user's text.
    """
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    if log_format == "json":
        last: list[structlog.typing.Processor] = [
            structlog.processors.ExceptionRenderer(
                structlog.tracebacks.ExceptionDictTransformer(show_locals=False)
            ),
            structlog.processors.JSONRenderer(),
        ]
    else:
        last = [
            _escape_texts,
            structlog.dev.ConsoleRenderer(
                colors=sys.stderr.isatty(), exception_formatter=_escape_traceback
            ),
        ]
    structlog.configure(
        processors=[*shared, *last],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.WriteLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[
                *shared,
                structlog.stdlib.add_logger_name,
                structlog.stdlib.ExtraAdder(),
            ],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *last],
        )
    )
    logging.basicConfig(level=logging.WARNING, handlers=[handler])


def _escape_texts(
    logger: object, name: str, event: structlog.typing.EventDict
) -> structlog.typing.EventDict:
    return {
        key: make_printable(text) if isinstance(text, str) else text for key, text in event.items()
    }


def _escape_traceback(stream: TextIO, error: structlog.typing.ExcInfo) -> None:
    lines = io.StringIO()
    structlog.dev.plain_traceback(lines, error)
    stream.write(make_printable_lines(lines.getvalue()))
