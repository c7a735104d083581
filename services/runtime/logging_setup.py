"""Structured logs on standard error: one event a line, with the request's id; never a token, a key
or a user's text."""

import logging
import sys
from typing import Literal

import structlog


def configure_logging(log_format: Literal["console", "json"]) -> None:
    """Call once, at the edge."""
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
            structlog.dev.ConsoleRenderer(
                colors=sys.stderr.isatty(), exception_formatter=structlog.dev.plain_traceback
            )
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
            foreign_pre_chain=[*shared, structlog.stdlib.add_logger_name],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *last],
        )
    )
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    # That a job is looked at again while it still runs is as it should be.
    logging.getLogger("apscheduler").setLevel(logging.ERROR)
    # A server that is away is said by whoever asked it; the driver says so at every attempt of
    # every transaction.
    logging.getLogger("neo4j").setLevel(logging.CRITICAL)
