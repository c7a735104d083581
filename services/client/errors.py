"""What can go wrong around the library: using the command line, and reaching a service."""

from propagation.model.errors import PropagationError


class UsageProblem(PropagationError):
    """The command was given something that it does not take."""


class Unreachable(PropagationError):
    """No service answers at this address."""


class Refused(PropagationError):
    """The service answered that it will not do this."""


class ChildFailed(PropagationError):
    """A process that this program started for itself did not do its part."""
