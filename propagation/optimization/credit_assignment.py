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
    clients = {party.client.ref for party in parties}
    epochs = {message.router: message.epoch for party in parties for message in party.messages}
    return [
        # A reasoner that knows the epoch spares a copy.
        replace(gradient, epoch=epochs[gradient.owner])
        if gradient.module is Module.ROUTER and gradient.epoch != epochs[gradient.owner]
        else gradient
        for gradient in gradients
        if gradient.owner in (epochs if gradient.module is Module.ROUTER else clients)
    ]
