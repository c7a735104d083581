"""Errors of a running service, in addition to those of the library."""

from pathlib import Path

from propagation.errors import PropagationError


class NotAllowed(PropagationError):
    """The caller lacks a role.

    Attributes:
        role: The role, or several with "or" between them.
    """

    def __init__(self, what: str, role: str) -> None:
        self.role = role
        super().__init__(f"{what} needs the role {role}; call with a token that has it")


class AnswerTooLarge(PropagationError):
    """An answer has more bytes than a message may have."""

    def __init__(self, size: int, most: int) -> None:
        self.size, self.most = size, most
        super().__init__(
            f"the answer has {size:,} bytes, more than server.max_message_bytes ({most:,}); ask for"
            " fewer rows or paths, or raise the setting (what the call was to write is written)"
        )


class NotLoopback(PropagationError):
    """Other machines can reach an address without TLS and tokens."""


class PortTaken(PropagationError):
    """Another process listens at the address."""

    def __init__(self, address: str) -> None:
        super().__init__(
            f"{address} is taken, or not an address of this machine; stop the other process or name"
            " another --port"
        )


class Starting(PropagationError):
    """The service is not ready yet.

    The message names what it waits for.
    """


class Stopping(PropagationError):
    """The service is stopping.

    Events that it did not acknowledge must be sent again.
    """


class OutOfTime(PropagationError):
    """The caller's deadline leaves no time to do anything."""


class NoSocketFile(PropagationError):
    """The temporary folder cannot hold the socket file of the page's process."""

    def __init__(self, folder: Path) -> None:
        super().__init__(
            f"no socket file can be opened in {folder}, whose name may be too long; let TMPDIR name"
            " a folder of less than 70 characters"
        )


class NotInstalled(PropagationError):
    """A setting needs an optional dependency that is not installed."""

    def __init__(self, setting: str, extra: str) -> None:
        super().__init__(
            f"{setting} needs a package that is not installed; run pip install"
            f" 'preference-propagation[{extra}]', or `make setup` in a checkout"
        )
