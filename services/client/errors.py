"""Errors of the command line and of calls to a service."""

from propagation.errors import PropagationError


class UsageProblem(PropagationError):
    """A command's argument, variable or file cannot be used."""


class Unreachable(PropagationError):
    """No service answers at the address."""


class Refused(PropagationError):
    """The service answered with an error."""


class NotReady(Refused):
    """The service is starting."""
