"""Rewards and gradients: the results of credit assignment for one module.

Source: RecNet 2.4, eq. 7 and 8.
"""

from enum import StrEnum

from propagation.model.base import value


class Module(StrEnum):
    """The kinds of module that take part in an interaction."""

    PROFILE = "profile"
    FILTER_MEMORY = "filter_memory"
    ROUTER = "router"


@value
class Gradient:
    """An executable suggestion for one module.

    Attributes:
        owner: A client's ref, or the router's number in `epoch`.
        writer: User whose interaction the gradient came from.
        reward: 0 or 1 (eq. 7), seen from the module.
        epoch: For a router, the epoch of the message that the gradient is about.
    """

    sequence: int
    module: Module
    owner: int
    writer: int
    reward: int
    text: str
    attributes: tuple[str, ...] = ()
    epoch: int = 0
