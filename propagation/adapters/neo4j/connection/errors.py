"""Translates errors of the driver and the server into the model's errors."""

from collections.abc import Mapping

from neo4j.exceptions import (
    AuthError,
    ConfigurationError,
    DriverError,
    Forbidden,
    Neo4jError,
    ServiceUnavailable,
    SessionExpired,
    TransientError,
)

from propagation.model import PropagationError, StoreFull, StoreRefused, StoreUnreachable

Meaning = tuple[type[PropagationError], str]
"""The class of our error, and its message as a format string."""
TIMED_OUT = (
    StoreUnreachable,
    "{uri} ended a transaction that took longer than neo4j.answer_seconds; nothing of it was"
    " stored",
)
DISK_FULL = (
    StoreFull,
    "{uri}: {code}: {message}; free space on the server's disk, then restart the server",
)
BY_CODE: Mapping[str, Meaning] = {
    "Neo.ClientError.Security.AuthenticationRateLimit": (
        StoreUnreachable,
        "{uri} refuses this user for some seconds, after too many logins with a wrong password",
    ),
    "Neo.ClientError.Database.DatabaseNotFound": (
        StoreRefused,
        "{uri}: {message}; set neo4j.database to one that exists",
    ),
    "Neo.DatabaseError.Transaction.TransactionLogError": DISK_FULL,
    "Neo.DatabaseError.Transaction.TransactionCommitFailed": DISK_FULL,
    "Neo.ClientError.General.WriteOnReadOnlyAccessDatabase": DISK_FULL,
    # After the disk was full, the database answers every request with this error until the server
    # restarts.
    "Neo.DatabaseError.Transaction.TransactionStartFailed": (
        StoreUnreachable,
        "{uri} has stopped working ({message}); look at the server's disk and its log, then"
        " restart the server",
    ),
    "Neo.ClientError.Transaction.TransactionTimedOut": TIMED_OUT,
    "Neo.ClientError.Transaction.TransactionTimedOutClientConfiguration": TIMED_OUT,
    "Neo.ClientError.Transaction.Terminated": (
        StoreUnreachable,
        "{uri}: an operator ended this transaction; nothing of it was stored",
    ),
}
BY_TYPE: Mapping[tuple[type[Exception], ...], Meaning] = {
    (AuthError, Forbidden): (
        StoreRefused,
        "{uri} refuses this user or password ({code}); set neo4j.user and"
        " PROPAGATION_NEO4J__PASSWORD",
    ),
    (TransientError,): (
        StoreUnreachable,
        "{uri} asks to try again later ({code}), and still did after neo4j.retry_seconds",
    ),
    (ConfigurationError,): (PropagationError, "neo4j.uri is {uri!r}: {message}"),
    (ServiceUnavailable, SessionExpired, OSError): (  # TimeoutError is an OSError
        StoreUnreachable,
        "{uri} does not answer ({error}: {message}); start the server, or set neo4j.uri{lost}",
    ),
}
"""For errors whose code BY_CODE lacks."""
ENTITY_NOT_FOUND = "Neo.ClientError.Statement.EntityNotFound"


class EntityDeleted(DriverError):
    """Another transaction deleted what a statement had found."""

    def is_retryable(self) -> bool:
        """Let the driver run the transaction again."""
        return True


def translate(error: Exception, uri: str, *, writing: bool) -> Exception:
    """Translate an error into one that says what to do.

    Args:
        writing: Whether the lost answer may be the answer to a commit.

    Returns:
        Our error; the given error itself if only a fault of the service can cause it.
    """
    code: str | None = None
    message = str(error)
    if isinstance(error, Neo4jError):
        code, message = error.code, error.message or ""
    by_type = (meaning for types, meaning in BY_TYPE.items() if isinstance(error, types))
    meaning = BY_CODE.get(code or "") or next(by_type, None)
    if meaning is None:
        return error
    kind, text = meaning
    first_line = message.partition("\n")[0].rstrip(": ")
    return kind(
        text.format(
            uri=uri,
            code=code,
            error=type(error).__name__,
            message=first_line,
            lost=". The commit may or may not be stored: send it again" if writing else "",
        )
    )
