"""A back-up of the graph that was made."""

from propagation.model.base import Term


class Backup(Term):
    """A back-up of the graph.

    Attributes:
        time: When it was complete, in milliseconds since 1970.
        file: Path of the file, as the operator named it, made absolute.
        bytes: Size of the file.
    """

    time: int
    file: str
    bytes: int
