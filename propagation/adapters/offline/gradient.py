"""Gradients: suggestions for each module that took part (eq. 8)."""

from collections.abc import Sequence

from propagation.adapters.offline.merge import list_heard_lines
from propagation.adapters.offline.sentences import clean_title, list_names, quote
from propagation.model import Gradient, Module, ReasonWork, RouterVersion, join_names, keep_first
from propagation.ports import Party


def write_gradients(
    work: ReasonWork, reward: int, user: Party, positive: Party, negative: Party | None
) -> Sequence[Gradient]:
    """Write one gradient for each module that took part.

    The modules are the profiles, the filter memories of clients with messages, and the routers that
    sent these messages. A router that several clients heard is judged by the first of them.

    Args:
        reward: 1 if the prediction was right, else 0.
    """
    chosen = list_names(positive.client)
    gradients = [
        _write_profile_gradient(
            work, reward, user, chosen, _describe_choice(reward, positive, chosen, negative)
        ),
        _write_profile_gradient(
            work,
            reward,
            positive,
            chosen,
            "It met a reader who was looking for it: keep what it says."
            if reward
            else "It was overlooked by a reader who chose it: say who chooses it, and "
            f"{_quote_names(chosen)}.",
        ),
    ]
    if negative is not None:
        other = list_names(negative.client)
        gradients.append(
            _write_profile_gradient(
                work,
                reward,
                negative,
                other,
                "It was rightly passed over: keep what it says."
                if reward
                else f"It promised this reader too much: say less of {_quote_names(other)}.",
            )
        )
    hearing = [
        (party, _list_subjects(party))
        for party in (user, positive, negative)
        if party is not None and party.messages
    ]
    heard = keep_first(
        (message.router, (message, names))
        for party, subjects in hearing
        for message, names in zip(party.messages, subjects, strict=True)
    )
    return [
        *gradients,
        *(_filter(work, reward, party, subjects, chosen) for party, subjects in hearing),
        *(
            _write_router_gradient(work, message, names, chosen)
            for message, names in heard.values()
        ),
    ]


def _describe_choice(
    reward: int, positive: Party, chosen: Sequence[str], negative: Party | None
) -> str:
    title = clean_title(positive.client.title)
    what = quote(title) if title else "The choice"
    if reward:
        return f"{what} was foreseen: keep what the profile says of {_quote_names(chosen)}."
    too_much = (
        [name for name in list_names(negative.client) if name not in chosen] if negative else []
    )
    return f"{what} was not foreseen: say more of {_quote_names(chosen)}" + (
        f", less of {join_names(too_much)}." if too_much else "."
    )


def _quote_names(names: Sequence[str]) -> str:
    return join_names(names) or "its kind"


def _write_profile_gradient(
    work: ReasonWork, reward: int, party: Party, names: Sequence[str], text: str
) -> Gradient:
    return Gradient(
        sequence=work.sequence,
        module=Module.PROFILE,
        owner=party.client.ref,
        writer=work.user,
        reward=reward,
        text=text,
        attributes=tuple(names),
    )


def _filter(
    work: ReasonWork,
    reward: int,
    party: Party,
    subjects: Sequence[Sequence[str]],
    chosen: Sequence[str],
) -> Gradient:
    heard = [name for names in subjects for name in names]
    fits = [name for name in dict.fromkeys(heard) if name in chosen]
    text = (
        f"News of {join_names(fits[:3])} fitted the choice: keep the rules that let it in."
        if fits
        else f"News of {_quote_names(list(dict.fromkeys(heard))[:3])} did not fit the choice: "
        "weigh these communities less."
    )
    return Gradient(
        sequence=work.sequence,
        module=Module.FILTER_MEMORY,
        owner=party.client.ref,
        writer=work.user,
        reward=reward,
        text=text,
        attributes=tuple(chosen),
    )


def _write_router_gradient(
    work: ReasonWork, message: RouterVersion, subjects: Sequence[str], chosen: Sequence[str]
) -> Gradient:
    fits = [name for name in subjects if name in chosen]
    text = (
        f"Spoke of {join_names(fits)}, which was then chosen: keep saying it."
        if fits
        else f"Spoke of {_quote_names(subjects)} while {_quote_names(chosen)} was chosen: say "
        "less of it to these readers."
    )
    return Gradient(
        sequence=work.sequence,
        module=Module.ROUTER,
        owner=message.router,
        writer=work.user,
        reward=int(bool(fits)),
        text=text,
        attributes=tuple(chosen),
        epoch=message.epoch,
    )


def _list_subjects(party: Party) -> list[tuple[str, ...]]:
    """Return the attributes of which each message told a client.

    They are those of the heard line that rests on the message, or else the message's first three.
    """
    lines = list_heard_lines(party.profile)
    return [
        line.attributes
        if (line := lines.get((message.router, message.version)))
        else tuple(message.attributes[:3])
        for message in party.messages
    ]
