"""Client optimisation: edits of a client's profile and filter memory.

A reasoner proposes the edits: by Prompt_optimizer (adapters/openai/prompts/optimizer.py), or
without a language model (adapters/offline/optimizer.py). This module applies them.

Source: RecNet 2.4, eq. 9.
"""

from dataclasses import replace

from propagation.model import ClientText, ReasonerFailed
from propagation.ports import AnswerPart, OptimizeAnswer


def apply_optimization(
    text: ClientText, answer: AnswerPart[OptimizeAnswer], max_lines: int
) -> ClientText:
    """Apply a reasoner's edits and rules: P_c* and F_c*.

    Returns:
        The next version; the same object if there is nothing to change.

    Raises:
        EditClash: An edited line does not exist.

    Source: RecNet eq. 9; Algorithm 1, line 10.
    """
    if isinstance(answer, ReasonerFailed) or not (answer.edits or answer.rules):
        return text
    profile = text.profile.apply_edits(answer.edits, max_lines)
    memory = text.filter_memory
    for rule in answer.rules:
        memory = memory.with_rule(rule)
    return ClientText(
        profile=profile, filter_memory=memory, watermark=text.watermark, dropped=text.dropped
    )


def drop_rules(answer: AnswerPart[OptimizeAnswer]) -> AnswerPart[OptimizeAnswer]:
    """Leave out an answer's rules, where no filter memory is kept.

    Source: RecNet 3.3, "w/o Filter Memory".
    """
    return answer if isinstance(answer, ReasonerFailed) else replace(answer, rules=())
