"""Estimates what the engine will ask a language model, before it asks.

Source:
    Measured with the scripted server on cds-dense (docs/laboratory.md).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import NamedTuple

from propagation.adapters.openai.options import OpenAIOptions
from propagation.adapters.openai.prompting import Prompt
from propagation.adapters.openai.prompts import (
    backward,
    evolve,
    extract,
    forward,
    merge,
    rank,
    summarize,
)
from propagation.adapters.openai.reasoner import OpenAIReasoner
from propagation.laboratory.methods.asking import Calls
from propagation.laboratory.methods.recnet.point_to_point import Content, Way
from propagation.laboratory.methods.recnet.point_to_point.prompts import SELECT, SUMMARIZE
from propagation.workflow.settings import WorkflowSettings

CHANGED_AN_EVENT = 2
"""Clients that an event changes and that no other event of the same round does."""
MERGING_CLIENTS = 0.67
"""The share of clients for whom a message waits after a round, if none waited before."""
SENDERS_AN_EVENT = 2
"""Clients whose profile an event changes: the user and the chosen item."""
DECIDED_SHARE = 0.43
"""The share of the first routers about which a round asks, if none is retired."""
# Without fused prompts: three merges and a prediction; three gradients, profiles and rules.
UNFUSED_FORWARD, UNFUSED_BACKWARD = 4, 9


class Tokens(NamedTuple):
    """How many tokens a call sends, and how many its answer has."""

    prompt: int
    answer: int


# Means over 700 interactions; of merges over 2,586. The scripted server writes no decisions about
# routers, so the length of these is assumed; likewise of the last two. Unfused calls are shorter,
# so too much is estimated for them.
TOKENS = {
    extract.PROMPT.label: Tokens(474, 890),
    forward.PROMPT.label: Tokens(1_157, 169),
    backward.PROMPT.label: Tokens(1_024, 359),
    summarize.PROMPT.label: Tokens(1_626, 679),
    evolve.PROMPT.label: Tokens(941, 150),
    merge.PROMPT.label: Tokens(518, 56),
    rank.PROMPT.label: Tokens(1_342, 14),
    SELECT.label: Tokens(1_000, 10),
    SUMMARIZE.label: Tokens(600, 60),
}


@dataclass(frozen=True)
class EnginePace:
    """What decides how much the engine asks.

    Attributes:
        step: As in ReplayPlan; likewise merges_at_once.
        way: How clients send to each other; None: they do not.
    """

    workflow: WorkflowSettings
    options: OpenAIOptions
    step: int
    merges_at_once: bool
    way: Way | None = None

    def count_rounds(self, events: int, clients: int) -> int:
        """Estimate how many rounds some events make due.

        Messages that are merged at once change clients, too, so that rounds are due twice as often.
        """
        if not self.workflow.propagate:
            return 0
        due = self.workflow.update_size_for(clients) / CHANGED_AN_EVENT
        apart = max(1, ceil(due / self.step)) * self.step
        return events // apart * (2 if self.merges_at_once else 1)


def estimate_calls(
    pace: EnginePace, events: int, clients: int, described: int, rankings: int
) -> Sequence[Calls]:
    """Estimate the calls of a replay and of rankings, by prompt.

    Args:
        events: Known events.
        described: How many clients have a text in the catalogue.
        rankings: How many lists the model ranks.
    """
    fused = pace.options.fused
    rounds = pace.count_rounds(events, clients)
    a_call = OpenAIReasoner.routers_a_call if fused else 1
    changed = CHANGED_AN_EVENT * pace.step
    routers = min(pace.workflow.taste.k, changed)
    calls = {
        extract.PROMPT: ceil(described / pace.options.clients_a_call),
        forward.PROMPT: events * (1 if fused else UNFUSED_FORWARD),
        backward.PROMPT: events * (1 if fused else UNFUSED_BACKWARD),
        summarize.PROMPT: rounds * ceil(routers / a_call),
        evolve.PROMPT: ceil(
            rounds * routers * DECIDED_SHARE if pace.workflow.evolve_every_rounds else 0
        ),
        merge.PROMPT: ceil(rounds * clients * MERGING_CLIENTS) if pace.merges_at_once else 0,
        rank.PROMPT: rankings,
    }
    if pace.way:
        calls |= count_between_clients(pace.way, events)
    return [
        Calls(
            prompt.label,
            count,
            count * TOKENS[prompt.label].prompt,
            count * TOKENS[prompt.label].answer,
        )
        for prompt, count in calls.items()
        if count
    ]


def count_between_clients(way: Way, events: int) -> Mapping[Prompt, int]:
    """Estimate the calls by which clients send to each other, by prompt."""
    sent = SENDERS_AN_EVENT * events
    texts = {Content.PROFILE: 0, Content.SUMMARY: 1, Content.SUMMARY_EACH: way.receivers}
    return {
        SELECT: sent if way.selects else 0,
        SUMMARIZE: sent * texts[way.content],
        merge.PROMPT: sent * way.receivers,
    }
