"""Prompt_gradient (eq. 8), offline: what each module that took part should change."""

from collections.abc import Sequence

from propagation.adapters.offline.wording import listed, name_of, quoted, salient
from propagation.model.gradient import Gradient, Module
from propagation.model.text import ReasonWork
from propagation.ports.reasoner import Party


def gradients_of(work: ReasonWork, reward: int, user: Party, positive: Party, negative: Party | None) -> Sequence[Gradient]:
    chosen = salient(positive.client)
    title = quoted(name_of(positive.client))
    about = listed(chosen) or "it"
    gradients = [_profile(work, reward, user, chosen,
                          f"Foresaw {title}: keep what it says of {about}." if reward
                          else f"Missed {title}: say more of {about}."),
                 _profile(work, reward, positive, chosen,
                          "Drew the right reader: keep it." if reward else "Overlooked: name who chooses it.")]
    if negative is not None:
        passed_over = salient(negative.client)
        gradients.append(_profile(work, reward, negative, passed_over,
                                  "Rightly passed over: keep it." if reward
                                  else f"Promised too much to this reader: say less of {listed(passed_over) or 'it'}."))
    for party in (user, positive, negative):
        if party is not None and party.messages:
            gradients.extend(_routing(work, reward, party, chosen))
    return gradients


def _profile(work: ReasonWork, reward: int, party: Party, names: Sequence[str], text: str) -> Gradient:
    return Gradient(sequence=work.sequence, module=Module.PROFILE, owner=party.client.ref, writer=work.user, reward=reward,
                    text=text, attributes=tuple(names))


def _routing(work: ReasonWork, reward: int, party: Party, chosen: Sequence[str]) -> list[Gradient]:
    names = frozenset(chosen)
    gradients = []
    fitting = 0
    for message in party.messages:
        shared = [name for name in message.attributes if name in names]
        fits = bool(shared)
        fitting += fits
        text = (f"Spoke of {listed(shared)}, which was chosen: keep it." if fits
                else f"Spoke of {listed(message.attributes[:2])} while {listed(chosen) or 'something else'} was chosen: "
                     "say less of it to these readers.")
        gradients.append(Gradient(sequence=work.sequence, module=Module.ROUTER, owner=message.router, writer=work.user,
                                  reward=int(fits), text=text, attributes=tuple(chosen)))
    text = "Let in what fits: keep its rules." if fitting else "Let in what did not fit: weigh these routers less."
    gradients.append(Gradient(sequence=work.sequence, module=Module.FILTER_MEMORY, owner=party.client.ref, writer=work.user,
                              reward=reward, text=text))
    return gradients
