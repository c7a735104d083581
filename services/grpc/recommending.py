"""Recommend and SimilarClients."""

from services.grpc.base import Servicer


class Recommending(Servicer):
    """Ranked items, and neighbours."""
