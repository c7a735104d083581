"""The driver's errors as ours."""

from neo4j.exceptions import (
    AuthError,
    ConfigurationError,
    Forbidden,
    Neo4jError,
    ServiceUnavailable,
    SessionExpired,
    TransientError,
)

from propagation.model.errors import PropagationError, StoreFull, StoreRefused, StoreUnreachable

FULL = (
    "Neo.DatabaseError.Transaction.TransactionLogError",
    "Neo.DatabaseError.Transaction.TransactionCommitFailed",
    "Neo.ClientError.General.WriteOnReadOnlyAccessDatabase",
)
TOOK_TOO_LONG = (
    "Neo.ClientError.Transaction.TransactionTimedOut",
    "Neo.ClientError.Transaction.TransactionTimedOutClientConfiguration",
)
ENDED = "Neo.ClientError.Transaction.Terminated"
LOCKED_OUT = "Neo.ClientError.Security.AuthenticationRateLimit"
NO_DATABASE = "Neo.ClientError.Database.DatabaseNotFound"
STOPPED = "Neo.DatabaseError.Transaction.TransactionStartFailed"
"""What a database answers to everything after such an error, until its server is started again,
however much room there is."""


def translated(error: Exception, uri: str, *, writing: bool) -> Exception:
    """An error of the driver or the server as one that says what to do; one that only a fault of
    ours can cause, as it is. `writing`: an answer that was lost may be that of a commit."""
    if isinstance(error, Neo4jError) and error.code == LOCKED_OUT:
        return StoreUnreachable(
            f"{uri} takes no logins of this user for some seconds, after too many with a wrong password"
        )
    if isinstance(error, Neo4jError) and error.code == NO_DATABASE:
        return StoreRefused(
            f"{uri}: {_line(error.message)}; set neo4j.database to one that is there"
        )
    if isinstance(error, AuthError | Forbidden):
        return StoreRefused(
            f"{uri} refuses this user or password ({error.code}); set neo4j.user and PROPAGATION_NEO4J__PASSWORD"
        )
    if isinstance(error, Neo4jError) and error.code in FULL:
        return StoreFull(
            f"{uri}: {error.code}: {_line(error.message)}; look at the server's disk: make room, restart the server"
        )
    if isinstance(error, Neo4jError) and error.code == STOPPED:
        return StoreUnreachable(
            f"{uri} has stopped working ({_line(error.message)}); look at the server's disk and its log, then"
            " restart the server"
        )
    if isinstance(error, Neo4jError) and error.code in TOOK_TOO_LONG:
        return StoreUnreachable(
            f"{uri} ended what took longer than neo4j.answer_seconds; nothing of it is there"
        )
    if isinstance(error, Neo4jError) and error.code == ENDED:
        return StoreUnreachable(
            f"{uri} ended this at somebody's word: another process, where this one stood still for longer than"
            " lease_seconds, or an operator; nothing of it is there"
        )
    if isinstance(error, TransientError):
        return StoreUnreachable(
            f"{uri} asks to try again later ({error.code}); it did so until neo4j.retry_seconds passed"
        )
    if isinstance(error, ConfigurationError):
        return PropagationError(f"neo4j.uri is {uri!r}: {error}")
    if isinstance(error, ServiceUnavailable | SessionExpired | OSError):  # TimeoutError is one
        said = _line(str(error)) or "no answer within neo4j.answer_seconds"
        lost = (
            ". What was being committed may or may not be there: send it again" if writing else ""
        )
        return StoreUnreachable(
            f"{uri} does not answer ({type(error).__name__}: {said}); start the server, or set neo4j.uri{lost}"
        )
    return error


def _line(said: str | None) -> str:
    """The first one."""
    return ((said or "").splitlines() or [""])[0].rstrip(": ")
