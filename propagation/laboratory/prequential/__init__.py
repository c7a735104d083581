"""The prequential protocol: each event is predicted at its moment, then learned."""

from propagation.laboratory.prequential.protocol import Prequential

__all__ = ["Prequential"]
