"""Client optimisation (RecNet 2.4, eq. 9): edits of profiles and filter memories, now."""

from collections.abc import Sequence
from dataclasses import replace

from propagation.model.gradient import Gradient, Module
from propagation.model.text import ClientText, ReasonWork
from propagation.ports.reasoner import Party, Reasoner


async def optimize_client(reasoner: Reasoner, work: ReasonWork, reward: int | None, party: Party, other: Party,
                          text: ClientText, gradients: Sequence[Gradient], max_lines: int) -> ClientText:
    """P_c*, F_c*: the next version; the same object when there is nothing to change. Raises ReasonerFailed."""
    mine = [gradient for gradient in gradients if gradient.module != Module.ROUTER and gradient.owner == party.client.ref]
    answer = await reasoner.optimize(work, reward, party, other, mine)
    if not answer.edits and not answer.rules:
        return text
    profile = text.profile.edited(answer.edits, max_lines)
    if profile is text.profile:
        profile = replace(profile, version=profile.version + 1)
    memory = text.filter_memory
    for rule in answer.rules:
        memory = memory.with_rule(rule)
    return ClientText(profile=profile, filter_memory=memory, watermark=text.watermark, dropped=text.dropped)
