"""Client optimisation (RecNet 2.4, eq. 9): edits of profiles and filter memories, now."""

from dataclasses import replace

from propagation.model.clients.client_text import ClientText
from propagation.model.errors import ReasonerFailed
from propagation.ports.reasoner import AnswerPart, OptimizeAnswer


def optimized(text: ClientText, answer: AnswerPart[OptimizeAnswer], max_lines: int) -> ClientText:
    """P_c*, F_c*: the next version; the same object when there is nothing to change. Raises
    EditClash."""
    if isinstance(answer, ReasonerFailed) or not (answer.edits or answer.rules):
        return text
    profile = text.profile.apply_edits(answer.edits, max_lines)
    if profile is text.profile:
        profile = replace(profile, version=profile.version + 1)
    memory = text.filter_memory
    for rule in answer.rules:
        memory = memory.with_rule(rule)
    return ClientText(
        profile=profile, filter_memory=memory, watermark=text.watermark, dropped=text.dropped
    )
