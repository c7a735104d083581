"""Credit assignment (RecNet 2.4, eq. 8): a reward and a gradient for each module that took part."""

from collections.abc import Sequence

from propagation.model.clients.gradient import Gradient, Module
from propagation.ports.reasoner import Party


def of_those_that_took_part(
    gradients: Sequence[Gradient], parties: Sequence[Party]
) -> list[Gradient]:
    """L_M and dL_M/dM for the profiles, the filter memories and the routers whose messages were
    merged; what a reasoner says of any other module is left out."""
    took_part = {
        (module, party.client.ref)
        for party in parties
        for module in (Module.PROFILE, Module.FILTER_MEMORY)
    }
    took_part |= {
        (Module.ROUTER, message.router) for party in parties for message in party.messages
    }
    epochs = {message.router: message.epoch for party in parties for message in party.messages}
    return [
        gradient.with_epoch(epochs[gradient.owner])
        if gradient.module == Module.ROUTER
        else gradient
        for gradient in gradients
        if (gradient.module, gradient.owner) in took_part
    ]
