"""Reception (RecNet 2.3, eq. 5): waiting messages into the profile, under the filter memory."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from propagation.model.client import Client
from propagation.model.router import RouterVersion
from propagation.model.text import ClientText, Merged
from propagation.ports.reasoner import MergeAnswer, Party, Reasoner
from propagation.reception.buffer import buffered
from propagation.reception.filter_memory import admitted

NO_ROOM = "no room"


@dataclass(frozen=True)
class Reception:
    """P_c^pro: the text after merging (the same object where nothing waited), what was merged, refused or fell out, and the
    messages that took part. Of a message for which the profile had no room nothing is kept."""

    text: ClientText
    merged: Sequence[Merged]
    messages: Sequence[RouterVersion]


async def receive(reasoner: Reasoner, client: Client, text: ClientText, waiting: Sequence[RouterVersion], last_round: int,
                  capacity: int, max_lines: int) -> Reception:
    """Eq. 5. An empty buffer is no work. Raises ReasonerFailed."""
    messages, fallen = buffered(client.ref, waiting, capacity)
    if not messages:
        return Reception(text=text, merged=(), messages=())
    let_in, kept_out = admitted(text.filter_memory, messages)
    answer = MergeAnswer(edits=())
    if let_in:
        answer = await reasoner.merge(Party(client=client, profile=text.profile, filter_memory=text.filter_memory, messages=let_in))
    profile = text.profile.edited(answer.edits, max_lines)
    if profile is text.profile:
        profile = replace(profile, version=profile.version + 1)
    outcomes = {**answer.outcomes, **{(message.router, message.version): "filtered" for message in kept_out},
                **{(message.router, message.version): "fell out" for message in fallen}}
    merged = [Merged(ref=client.ref, profile_version=profile.version, router=router, router_version=version, outcome=outcome)
              for (router, version), outcome in outcomes.items() if outcome != NO_ROOM]
    after = ClientText(profile=profile, filter_memory=text.filter_memory, watermark=last_round, dropped=text.dropped + len(fallen))
    taken = [message for message in messages if answer.outcomes.get((message.router, message.version)) == "merged"]
    return Reception(text=after, merged=merged, messages=taken)
