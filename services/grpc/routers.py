"""ListRouters and GetRouter."""

from services.grpc.base import Servicer


class Routers(Servicer):
    """Routers of both banks, and their members."""
