"""Reward and gradient: what credit assignment says of one module (RecNet 2.4, eq. 7 and 8)."""

from enum import StrEnum

from propagation.model.base import value


class Module(StrEnum):
    """The kinds of module that take part in an interaction."""

    PROFILE = "profile"
    FILTER_MEMORY = "filter_memory"
    ROUTER = "router"


@value
class Gradient:
    """An executable suggestion for one module. `owner` is a client's ref, or the router's number;
    `writer` the user whose interaction it came from. `reward` is 0 or 1 (eq. 7), seen from the
    module. `epoch`: of a router, the epoch of the message that it is about, whose numbers `owner`
    is one of."""

    sequence: int
    module: Module
    owner: int
    writer: int
    reward: int
    text: str
    attributes: tuple[str, ...] = ()
    epoch: int = 0

    def with_epoch(self, epoch: int) -> "Gradient":
        """This gradient, about a message of that epoch."""
        return Gradient(
            sequence=self.sequence,
            module=self.module,
            owner=self.owner,
            writer=self.writer,
            reward=self.reward,
            text=self.text,
            attributes=self.attributes,
            epoch=epoch,
        )
