"""Errors that this library raises on purpose.

The docstring of each class says when it is raised.
"""

from typing import ClassVar

from propagation.usage import NO_USAGE, Usage


class PropagationError(Exception):
    """Root of all errors.

    The message says what happened and what to do.

    The attributes of an error reach callers as the metadata of its status.
    """


class InvalidInput(PropagationError):
    """A field of a request is wrong.

    The message names the field, the problem and the limit.
    """

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field}: {problem}")
        self.field = field
        self.problem = problem


class NotFound(PropagationError):
    """The named thing is not in the graph."""

    def __init__(self, what: str, name: str) -> None:
        super().__init__(f"{what} {name!r} is not known")
        self.what = what
        self.name = name


class NotReached(PropagationError):
    """A read's `min_sequence` was not reflected before its deadline."""

    def __init__(self, requested: int, reached: int) -> None:
        super().__init__(
            f"sequence {requested} is not reflected yet, only those up to {reached}; retry later or"
            " lower min_sequence"
        )
        self.requested = requested
        self.reached = reached


class TooOld(PropagationError):
    """Time travel to a sequence older than retention keeps."""

    def __init__(self, sequence: int, oldest: int) -> None:
        super().__init__(f"sequence {sequence} is older than what is kept; the oldest is {oldest}")
        self.sequence = sequence
        self.oldest = oldest


class VersionTooOld(PropagationError):
    """A version of a profile that retention dropped."""

    def __init__(self, version: int) -> None:
        super().__init__(
            f"version {version} of the profile is no longer kept; name no version to read the"
            " present one"
        )
        self.version = version


class TooNew(PropagationError):
    """Time travel to a sequence or time in the future."""

    def __init__(self, asked: str, newest: int) -> None:
        super().__init__(f"the point {asked} is in the future; the newest sequence is {newest}")
        self.asked = asked
        self.newest = newest


class LeaseHeld(PropagationError):
    """Another process does this work now; the graph will hold its result."""

    def __init__(self, name: str) -> None:
        super().__init__(f"another process holds the lease {name!r}; try again when it is done")
        self.name = name


class LeaseLost(PropagationError):
    """Another process took the lease over; nothing of this commit was stored."""


class StoreBusy(PropagationError):
    """Another process holds the database."""


class StoreCorrupt(PropagationError):
    """The database cannot be read; restore it from a backup."""


REBUILD = "; stop the service, then run `propagation rebuild`"
"""The remedy for lost or damaged numbers, which ends an error message."""


class DamagedNumbers(StoreCorrupt):
    """Learned numbers are lost or damaged.

    `propagation rebuild` learns them again from the log.

    Attributes:
        after: The damage begins just after this sequence; -1 if the error names no place.
        through: The damage ends at this sequence; -1 likewise.
    """

    def __init__(self, problem: str, after: int = -1, through: int = -1) -> None:
        super().__init__(f"{problem}{REBUILD}")
        self.after, self.through = after, through


class DamagedText(StoreCorrupt):
    """A stored text cannot be read; the rest may be sound."""


class StoreFull(PropagationError):
    """The disk is full, or the file reached its size limit.

    Nothing was written.
    """


class StoreUnreachable(PropagationError):
    """The database server does not answer.

    A commit under way may or may not have been stored; send it again.
    """


class StoreRefused(PropagationError):
    """The database server refuses this user and password.

    Also raised if the user's permissions do not suffice.
    """


class StoreForeign(PropagationError):
    """The database holds other data; nothing in it was touched."""


class StoreUnsupported(PropagationError):
    """The database server has a version that this release does not support."""


class SchemaTooNew(PropagationError):
    """A newer release wrote the database."""


class IncompatibleSettings(PropagationError):
    """A setting does not fit the data, the server or the request.

    The message names the setting and the remedy.
    """


class IndexUnavailable(PropagationError):
    """The vector index does not answer.

    Its changes stay in the graph's outbox; rounds wait, and everything else goes on.
    """


class ReasonerFailed(PropagationError):
    """The reasoner gave no usable answer.

    An empty answer is usable: it means that there is nothing to change.

    Attributes:
        public_reason: The message without the words of the model's server, which may quote any text
            that the server was sent. Only this reason is stored with a failure or shown to all
            callers.
        usage: Cost of the calls that failed.
    """

    public_reason: ClassVar = (
        "the language model gave no usable answer; the service's log, or a call as admin, says why"
    )

    def __init__(self, reason: str, usage: Usage = NO_USAGE) -> None:
        super().__init__(reason)
        self.usage = usage


class ReasonerGaveUp(ReasonerFailed):
    """This question will never be answered, e.g. because it is too long."""


class ReasonerUnavailable(ReasonerFailed):
    """No model answers now; ask again later.

    For example, the endpoint is down or a budget is spent.
    """

    public_reason = (
        "no language model answers now, so try again later; the service's log, or a call as admin,"
        " says why"
    )


class ReasonerStopping(ReasonerUnavailable):
    """This process is stopping, so no fallback answers.

    The work goes on after the next start.
    """


class EndpointUnavailable(ReasonerUnavailable):
    """The endpoint is down or busy.

    The caller limits how often it asks, so the next attempt may follow soon.
    """


class WrongEndpoint(ReasonerUnavailable):
    """Another server answers at the address, or this one lacks the model.

    The message says what answered, and which setting to correct.
    """


class RoundAbandoned(PropagationError):
    """A round gave way to an activity that replaces its routers."""


class BrokenData(PropagationError):
    """A data file cannot be used.

    The message names the file, the line (0: the whole file), the field and the remedy.
    """

    def __init__(self, file: str, line: int, field: str, problem: str) -> None:
        place = f"{file}, line {line}" if line else file
        super().__init__(f"{place}, {field}: {problem}" if field else f"{place}: {problem}")
        self.file = file
        self.line = line
        self.field = field
        self.problem = problem
