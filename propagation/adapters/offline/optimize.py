"""Prompt_optimizer (eq. 9), offline: what a choice says of the user, and of the item."""

from propagation.adapters.offline.wording import bounded, listed, name_of, quoted, salient, titles_in
from propagation.model.client import ClientKind
from propagation.model.filter_memory import FilterRule
from propagation.model.profile import AddLine, Author, Edit, Line, Profile, ReplaceLine, Source
from propagation.model.text import ReasonWork
from propagation.ports.reasoner import OptimizeAnswer, Party

KEPT = 0.95
TITLES = 3
SOURCES = 8
LEAST_OVERLAP = 0.5
RAISE, LOWER = 1.25, 0.8
HOW_OFTEN = ((1.5, "Tried"), (3.0, "Enjoys"), (6.0, "Often chooses"), (float("inf"), "Keeps returning to"))


def optimized(work: ReasonWork, reward: int | None, party: Party, other: Party) -> OptimizeAnswer:
    if party.client.key.kind == ClientKind.USER:
        edits = _reinforced(party.profile, salient(other.client), work.sequence, name_of(other.client))
    elif work.item == party.client.ref:
        edits = _adopted(party.profile, _leading(other.profile), work.sequence)
    else:
        edits = []
    return OptimizeAnswer(edits=edits, rules=_rules(work, reward, party, other))


def _reinforced(profile: Profile, names: list[str], sequence: int, title: str) -> list[Edit]:
    if not names:
        return []
    line = _closest(profile, names)
    if line is None:
        return [AddLine(line=_user_line(0, names, 1.0, [title], (Source(sequence=sequence),)))]
    titles = [title, *(old for old in titles_in(line.text) if old != title)][:TITLES]
    sources = (*line.sources, Source(sequence=sequence))[-SOURCES:]
    return [ReplaceLine(line=_user_line(line.id, list(line.attributes), line.weight * KEPT + 1, titles, sources))]


def _user_line(id_: int, names: list[str], weight: float, titles: list[str], sources: tuple[Source, ...]) -> Line:
    often = next(words for below, words in HOW_OFTEN if weight < below)
    text = bounded(f"{often} {listed(names)}: lately {listed([quoted(title) for title in titles])}.")
    return Line(id=id_, text=text, attributes=tuple(names), weight=weight, author=Author.INTERACTION, sources=sources)


def _adopted(profile: Profile, names: list[str], sequence: int) -> list[Edit]:
    if not names:
        return []
    line = _closest(profile, names)
    weight = 1.0 if line is None else line.weight * KEPT + 1
    kept = names if line is None else list(line.attributes)
    sources = (*(() if line is None else line.sources), Source(sequence=sequence))[-SOURCES:]
    new = Line(id=line.id if line else 0, text=bounded(f"Chosen by people drawn to {listed(kept)}."), attributes=tuple(kept),
               weight=weight, author=Author.INTERACTION, sources=sources)
    return [ReplaceLine(line=new) if line else AddLine(line=new)]


def _leading(profile: Profile) -> list[str]:
    """The attributes of the user's heaviest own line."""
    own = [line for line in profile.lines if line.author != Author.RECEPTION and line.attributes]
    return list(max(own, key=lambda line: (line.weight, line.id)).attributes[:2]) if own else []


def _closest(profile: Profile, names: list[str]) -> Line | None:
    """The own line that says most nearly the same."""
    wanted = frozenset(names)
    best, best_overlap = None, LEAST_OVERLAP
    for line in profile.lines:
        if line.author != Author.INTERACTION or not line.attributes:
            continue
        overlap = len(wanted & frozenset(line.attributes)) / len(wanted | frozenset(line.attributes))
        if overlap >= best_overlap:
            best, best_overlap = line, overlap
    return best


def _rules(work: ReasonWork, reward: int | None, party: Party, other: Party) -> list[FilterRule]:
    """Messages merged just now are confirmed by a right prediction, doubted after a wrong one."""
    if reward is None:
        return []
    chosen = frozenset(salient(other.client)) if party.client.key.kind == ClientKind.USER else party.profile.attributes
    rules = []
    for message in party.messages:
        fits = bool(chosen & frozenset(message.attributes))
        if fits == bool(reward):
            old = next((rule for rule in party.filter_memory.rules if rule.router == message.router), None)
            factor = (old.factor if old else 1.0) * (RAISE if fits else LOWER)
            verb = "Welcome" if factor > 1 else "Be wary of" if factor < 1 else "Weigh as any other"
            rules.append(FilterRule(router=message.router, factor=factor, text=f"{verb} what {message.name} passes on.",
                                    evidence=(*(old.evidence if old else ()), work.sequence)[-SOURCES:], age=work.sequence))
    return rules
