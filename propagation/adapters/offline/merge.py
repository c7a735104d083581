"""Prompt_merge (eq. 5), offline: one line a router that was heard, under the filter memory."""

from propagation.adapters.offline.wording import bounded, listed
from propagation.model.client import ClientKind
from propagation.model.filter_memory import DROP_BELOW
from propagation.model.profile import AddLine, Author, Edit, Line, Profile, ReplaceLine, Source
from propagation.model.router import RouterVersion
from propagation.ports.reasoner import MergeAnswer, Party

HEARD_WEIGHT = 0.5
HEARD_ATTRIBUTES = 3


def merged_messages(party: Party) -> MergeAnswer:
    edits: list[Edit] = []
    outcomes: dict[tuple[int, int], str] = {}
    own = frozenset(name for line in party.profile.lines if line.author != Author.RECEPTION for name in line.attributes)
    for message in party.messages:
        factor = party.filter_memory.factor_for(message.router, frozenset(message.attributes))
        key = (message.router, message.version)
        if factor < DROP_BELOW:
            outcomes[key] = "filtered"
            continue
        names = sorted(message.attributes, key=lambda name: name in own)[:HEARD_ATTRIBUTES]
        if not names:
            outcomes[key] = "empty"
            continue
        heard = _heard_line(party.profile, message.router)
        line = Line(id=heard.id if heard else 0, text=_sentence(party, message, names), attributes=tuple(names),
                    weight=HEARD_WEIGHT * factor, author=Author.RECEPTION,
                    sources=(Source(router=message.router, version=message.version),))
        edits.append(ReplaceLine(line=line) if heard else AddLine(line=line))
        outcomes[key] = "merged"
    return MergeAnswer(edits=edits, outcomes=outcomes)


def _heard_line(profile: Profile, router: int) -> Line | None:
    return next((line for line in profile.lines if line.author == Author.RECEPTION
                 and any(source.router == router for source in line.sources)), None)


def _sentence(party: Party, message: RouterVersion, names: list[str]) -> str:
    if party.client.key.kind == ClientKind.USER:
        return bounded(f"Heard from people of similar taste ({message.name}): they are turning to {listed(names)}.")
    return bounded(f"Its audience ({message.name}) is turning to {listed(names)}.")
