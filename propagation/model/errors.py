"""One root for every error this library raises on purpose; each class's docstring is its meaning."""

from propagation.model.usage import NO_USAGE, Usage


class PropagationError(Exception):
    """Something the caller or the operator can act on; the message says what and how."""


class InvalidInput(PropagationError):
    """A field of a request is wrong: names the field, the value's problem and the limit."""

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
    """A read asked for a sequence that was not reflected before its deadline."""

    def __init__(self, requested: int, reached: int) -> None:
        super().__init__(
            f"sequence {requested} is not reflected yet; reached {reached}; retry later or lower min_sequence"
        )
        self.requested = requested
        self.reached = reached


class TooOld(PropagationError):
    """Time travel to before what retention keeps."""

    def __init__(self, sequence: int, oldest: int) -> None:
        super().__init__(f"sequence {sequence} is older than what is kept; the oldest is {oldest}")
        self.sequence = sequence
        self.oldest = oldest


class TooNew(PropagationError):
    """Time travel to what has not happened yet."""

    def __init__(self, asked: str, newest: int) -> None:
        super().__init__(f"as_of {asked} is in the future; the newest sequence is {newest}")
        self.asked = asked
        self.newest = newest


class LeaseHeld(PropagationError):
    """Another process does this now; what it does stands in the graph when it is done."""

    def __init__(self, name: str) -> None:
        super().__init__(f"another process holds the lease {name!r}; try again when it is done")
        self.name = name


class LeaseLost(PropagationError):
    """Another holder took the lease; what this one was about to commit is void."""


class StoreBusy(PropagationError):
    """Another process holds this database."""


class StoreCorrupt(PropagationError):
    """The database cannot be read; restore it from a back-up."""


class StoreFull(PropagationError):
    """The disk, or the file's size limit, is full: nothing was written."""


class StoreUnreachable(PropagationError):
    """The database's server does not answer. What was being committed, if anything was, may or may
    not be there: send it again."""


class StoreRefused(PropagationError):
    """The database's server does not take this user and password, or does not let them do this."""


class StoreForeign(PropagationError):
    """The database holds somebody else's data; nothing in it was touched."""


class StoreUnsupported(PropagationError):
    """The database's server is of a version that this release was not made for."""


class SchemaTooNew(PropagationError):
    """The database was written by a newer release than this one."""


class IncompatibleSettings(PropagationError):
    """A setting disagrees with what the data was made with; the message names the command that
    changes it."""


class IndexUnavailable(PropagationError):
    """The vector index does not answer. What it has to learn waits in the graph's outbox; rounds
    wait, all else goes on."""


class Unsupported(PropagationError):
    """This deployment's adapters cannot do it; the message says which can."""


class ReasonerFailed(PropagationError):
    """The reasoner gave no usable answer. Never the same as having found nothing. `usage` is what
    it cost all the same."""

    def __init__(self, reason: str, usage: Usage = NO_USAGE) -> None:
        super().__init__(reason)
        self.usage = usage


class ReasonerGaveUp(ReasonerFailed):
    """This question will not be answered, however often it is asked (it is too long, or ends every
    call)."""


class ReasonerUnavailable(ReasonerFailed):
    """Nobody answers now (the endpoint is down, a budget is spent): the same question may be asked
    later, and waits."""


class ReasonerStopping(ReasonerUnavailable):
    """This process ends: nobody stands in, what waits goes on after its next start."""


class EndpointUnavailable(ReasonerUnavailable):
    """The endpoint is down or busy; who asks it sees to it that it is not asked too often, so the
    next try may be soon."""


class BrokenData(PropagationError):
    """A data file cannot be used as it is: names file, line (from 1; 0: the file as a whole), field
    and what to give."""

    def __init__(self, file: str, line: int, field: str, problem: str) -> None:
        place = f"{file}, line {line}" if line else file
        super().__init__(f"{place}, {field}: {problem}" if field else f"{place}: {problem}")
        self.file = file
        self.line = line
        self.field = field
        self.problem = problem
