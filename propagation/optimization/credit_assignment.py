"""Credit assignment: a textual reward and gradient for each module.

A reasoner writes the gradients: by Prompt_gradient (adapters/openai/prompts/gradient.py), or
without a language model (adapters/offline/gradient.py). This module keeps the gradients of the
modules that took part.

Source: RecNet 2.4, eq. 8.
"""

from collections.abc import Sequence
from dataclasses import replace

from propagation.model import Gradient, Module
from propagation.ports import Party


def keep_gradients_of_participants(
    gradients: Sequence[Gradient], parties: Sequence[Party]
) -> list[Gradient]:
    """Keep the gradients of the modules that took part in a prediction.

    These modules are the parties' profiles and filter memories, and the routers whose messages were
    merged. A gradient is L_M with dL_M/dM.

    Source: RecNet eq. 8; Algorithm 1, line 9.
    """
    participants = {
        (module, party.client.ref)
        for party in parties
        for module in (Module.PROFILE, Module.FILTER_MEMORY)
    }
    epochs = {message.router: message.epoch for party in parties for message in party.messages}
    participants |= {(Module.ROUTER, router) for router in epochs}
    return [
        replace(gradient, epoch=epochs[gradient.owner])
        if gradient.module == Module.ROUTER
        else gradient
        for gradient in gradients
        if (gradient.module, gradient.owner) in participants
    ]
