"""The port of methods whose agents take part in the studies."""

from typing import Protocol, TypeGuard

from propagation.laboratory.agentcf.asked import Asked
from propagation.laboratory.agentcf.memory import Agents
from propagation.laboratory.agentcf.variant import Variant
from propagation.laboratory.history import History
from propagation.laboratory.methods import Method, MethodFailed
from propagation.laboratory.methods.asking import Ask, AskingMethod
from propagation.ports import Embedder


class AgentMethod(AskingMethod, Protocol):
    """A method that gives its agents to a study.

    Attributes:
        variant: Which agents it has.
        ask: How its agents ask the model.
        embedder: Compares memories.
    """

    @property
    def variant(self) -> Variant: ...

    @property
    def ask(self) -> Ask: ...

    @property
    def embedder(self) -> Embedder: ...

    def create_agents(self) -> Agents:
        """Create agents that have not interacted yet.

        Raises:
            MethodFailed: No item has a text.
        """

    async def optimize(self, history: History, seed: int) -> tuple[Agents, Asked]:
        """Let new agents make all interactions of a history.

        Raises:
            MethodFailed: No item has a text, or the model cannot be used.
        """


def has_agents(method: Method) -> TypeGuard[AgentMethod]:
    """Return whether a method has agents."""
    return hasattr(method, "create_agents")


def get_agent_method(
    method: Method, lack: str, *, users: bool = False, items: bool = False
) -> AgentMethod:
    """Return a method whose agents a study can use.

    Args:
        lack: What is wrong with a method that has not these agents, for the message.
        users: Whether the study needs agents of users; likewise items.

    Raises:
        MethodFailed: It lacks them.
    """
    if (
        not has_agents(method)
        or (users and not method.variant.user_agents)
        or (items and not method.variant.item_agents)
    ):
        raise MethodFailed(f"{method.name}: {lack}; leave it out of --methods")
    return method
