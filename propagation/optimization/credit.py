"""Credit assignment (RecNet 2.4, eq. 8): a reward and a gradient for each module that took part."""

from collections.abc import Sequence

from propagation.model.gradient import Gradient, Module
from propagation.model.text import ReasonWork
from propagation.ports.reasoner import Party, Reasoner


async def assign_credit(reasoner: Reasoner, work: ReasonWork, reward: int, user: Party, positive: Party,
                        negative: Party) -> Sequence[Gradient]:
    """L_M and dL_M/dM for the three profiles, the filter memories and the routers whose messages were merged; what a
    reasoner says of any other module is left out. Raises ReasonerFailed."""
    parties = (user, positive, negative)
    took_part = {(module, party.client.ref) for party in parties for module in (Module.PROFILE, Module.FILTER_MEMORY)}
    took_part |= {(Module.ROUTER, message.router) for party in parties for message in party.messages}
    gradients = await reasoner.assign_credit(work, reward, user, positive, negative)
    return [gradient for gradient in gradients if (gradient.module, gradient.owner) in took_part]
