"""TracePropagation."""

from services.grpc.base import Servicer


class Tracing(Servicer):
    """Paths, hop by hop."""
