"""Methods that learn a history and score candidates."""

from propagation.laboratory.methods.method import (
    LiveMethod,
    Measured,
    MeasuringMethod,
    Method,
    MethodFailed,
    MethodNotInstalled,
    get_measured,
    is_live,
)
from propagation.laboratory.methods.popularity import Popularity
from propagation.laboratory.methods.program import Program
from propagation.laboratory.methods.random import Random

__all__ = [
    "LiveMethod",
    "Measured",
    "MeasuringMethod",
    "Method",
    "MethodFailed",
    "MethodNotInstalled",
    "Popularity",
    "Program",
    "Random",
    "get_measured",
    "is_live",
]
