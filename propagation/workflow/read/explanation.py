"""Explanation of a ranked item: score parts, communities and messages.

The communities and messages are those behind the item's score.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from propagation.model import (
    I64,
    Author,
    BankName,
    ClientText,
    RouterVersion,
    join_names,
    keep_first,
)
from propagation.numbers.rules import PROPAGATED, Feature
from propagation.ports import Embedder, RoundStore
from propagation.workflow.index import embed_within_deadline
from propagation.workflow.read.scoring import BankCommunities, ReadRequest, ReadResult
from propagation.workflow.views import OFF, Catalogue

ROUTERS_A_BANK = 5
HISTORY_ITEMS = 5
REASONS = 3
WORDS = {
    Feature.POPULARITY: "many people chose it",
    Feature.RECENT: "it is being chosen a lot at the moment",
    Feature.CONTENT: "it resembles what this user chose before",
    Feature.ATTRIBUTES: "it shares attributes with what this user chose before",
    Feature.ADOPTERS: "the people who chose it have a taste like this user's",
    Feature.KNN_SLOW: "it is often chosen together with items of this user's history",
    Feature.KNN_FAST: "it is often chosen together with this user's latest items",
    Feature.LIFT_SESSION: "people in the same mood are choosing it more than others do",
    Feature.LIFT_TASTE: "communities of this user's taste choose it more than others do",
    Feature.PROFILE: "its profile reads like this user's",
    Feature.HISTORY: "people with a history like this user's chose it next",
    Feature.TASTE: "people of a taste like this user's choose it",
}
# For a user without history: the user's own text is all that an item can resemble.
COLD_WORDS = {
    Feature.POPULARITY: WORDS[Feature.POPULARITY],
    Feature.RECENT: WORDS[Feature.RECENT],
    Feature.CONTENT: "it resembles the description of this user",
    Feature.ATTRIBUTES: "it shares attributes with the description of this user",
    Feature.ADOPTERS: "the people who chose it resemble the description of this user",
    Feature.PROFILE: "its profile reads like the description of this user",
}
# Logarithms of counts: they may be negative, so a positive standardised value is enough.
LOGARITHMS = frozenset({Feature.RECENT, Feature.KNN_SLOW, Feature.KNN_FAST})
OWN = frozenset(COLD_WORDS) - {Feature.POPULARITY, Feature.RECENT}
NO_REASON = "Nothing in particular speaks for it: it fills the rest of the list."


@dataclass(frozen=True)
class ScorePart:
    """One additive part of a score; products sum to the score.

    Attributes:
        raw: Value of the feature before standardisation.
        value: Standardised value.
        product: value times weight.
        users: At least how many users' events it rests on; infinity: it rests on the catalogue and
            the reader's own history.
    """

    feature: Feature
    raw: float
    value: float
    weight: float
    product: float
    users: float


@dataclass(frozen=True)
class RouterPart:
    """A community by which items are ranked for a user.

    Attributes:
        share: pi of the router for the user, 0 to 1.
        lift: Lift (ln) of the item in the router.
        adopters: How many users' adoptions of the item wrote most to the router.
    """

    router: int
    bank: BankName
    name: str
    share: float
    lift: float
    adopters: int


@dataclass(frozen=True)
class HistoryPart:
    """The part of one chosen item in an item's history factor.

    Attributes:
        long_run: w_a P[h_a].Q_i; `session` is v_a P'[h_a].Q_i.
    """

    item_id: str
    title: str
    long_run: float
    session: float


@dataclass(frozen=True)
class NearItem:
    """An item near to the user's taste vector."""

    item_id: str
    title: str
    cosine: float


@dataclass(frozen=True)
class Explanation:
    """Reasons for an item's place, in numbers and in words.

    Attributes:
        messages: Messages whose lines in the user's profile raised the score.
        history: The items of the user's history that add most to the history factor; empty if the
            request's `least_users` is set, as they are what a person chose. Likewise near_taste.
        history_rest: Sum of the parts of all other items of the history; None if there are none.
    """

    parts: Sequence[ScorePart]
    routers: Sequence[RouterPart]
    messages: Sequence[RouterVersion]
    text: str
    history: Sequence[HistoryPart] = ()
    near_taste: Sequence[NearItem] = ()
    history_rest: float | None = None


@dataclass
class Explainer:
    """Explains the items of a read.

    Loads only names and messages from the store.
    """

    store: RoundStore
    embedder: Embedder
    catalogue: Catalogue
    min_support: int

    async def explain(
        self, read: ReadResult, request: ReadRequest, text: ClientText | None
    ) -> list[Explanation]:
        """Explain each item of a read, in its order.

        Score parts that rest on fewer users than the request's `least_users` are left out. The
        words never call fewer than `min_support` users many. An explanation without propagation has
        neither routers nor messages.

        Args:
            text: The user's text; None if it has none.
        """
        strongest = [] if request.arm == OFF else [_find_strongest(one) for one in read.communities]
        names, messages = await asyncio.gather(
            self._load_names(read, strongest),
            self._find_messages_behind(read, text if request.arm != OFF else None),
        )
        near_taste = [
            NearItem(self.catalogue.ids[row], self.catalogue.titles[row], cosine)
            for row, cosine in (() if request.least_users else read.near_taste)
        ]
        explanations = []
        for place in range(len(read.ranked.rows)):
            parts = [
                part
                for part in build_score_parts(read, place, request.arm)
                if part.users >= request.least_users
            ]
            heard = (
                messages[place] if any(part.feature == Feature.PROFILE for part in parts) else []
            )
            routers = [
                part
                for bank, community, order in zip(
                    BankName, read.communities, strongest, strict=False
                )
                for part in _explain_router_parts(bank, community, order[place], place, names)
            ]
            mentioned = [
                part
                for part in parts
                if part.feature != Feature.POPULARITY or part.users >= self.min_support
            ]
            history = [] if request.least_users else self._list_history_parts(read, place)
            rest = None if request.least_users else _sum_rest(read, place, history)
            words = explain_in_words(mentioned, routers, heard, cold=read.cold, history=history)
            explanations.append(
                Explanation(parts, routers, heard, words, history, near_taste, rest)
            )
        return explanations

    def _list_history_parts(self, read: ReadResult, place: int) -> list[HistoryPart]:
        """List the chosen items that raise one item most, the largest first."""
        if not len(read.history):
            return []
        parts = read.history_parts[place].astype(np.float64)
        order = np.argsort(-parts.sum(axis=0), kind="stable")[:HISTORY_ITEMS]
        ids, titles = self.catalogue.ids, self.catalogue.titles
        return [
            HistoryPart(
                ids[int(read.history[at])],
                titles[int(read.history[at])],
                float(parts[0, at]),
                float(parts[1, at]),
            )
            for at in order
            if parts[:, at].sum() > 0
        ]

    async def _load_names(self, read: ReadResult, strongest: Sequence[I64]) -> dict[int, str]:
        """Load the strongest taste routers' names; none without propagation."""
        if not strongest:
            return {}
        routers = sorted(
            {int(router) for router in read.communities[1].routers[strongest[1].ravel()]}
        )
        return {
            version.router: version.name
            for version in await self.store.get_router_versions(routers)
        }

    async def _find_messages_behind(
        self, read: ReadResult, text: ClientText | None
    ) -> list[list[RouterVersion]]:
        """List, by item, the messages that raise the item's profile cosine.

        A message raises it through the lines that reception wrote into the user's profile.
        None are listed if the lines cannot be embedded within the deadline.
        """
        lines = [] if text is None else text.profile.lines
        received = [line for line in lines if line.author == Author.RECEPTION]
        none: list[list[RouterVersion]] = [[] for _ in read.ranked.rows]
        if not received or read.item_profiles is None:
            return none
        vectors = await embed_within_deadline(
            self.embedder, [line.text for line in received], "messages of an explanation"
        )
        if vectors is None:
            return none
        effect = (read.item_profiles @ vectors.T) * read.ranked.weights[:, Feature.PROFILE, None]
        raising = [line for place, line in enumerate(received) if (effect[:, place] > 0).any()]
        keys = sorted({key for line in raising for key in line.messages})
        messages = await self.store.get_messages(keys, 0)
        return [
            [
                messages[key]
                for place, line in enumerate(received)
                if row[place] > 0
                for key in line.messages
                if key in messages
            ]
            for row in effect
        ]


def build_score_parts(read: ReadResult, place: int, arm: int) -> list[ScorePart]:
    """List the parts of one item's score that an arm uses.

    They are in the features' order.

    Args:
        place: The item's place in the ranked list.
        arm: ON or OFF.
    """
    ranked = read.ranked
    return [
        ScorePart(
            feature,
            float(ranked.raw[place, feature]),
            float(ranked.values[place, feature]),
            float(ranked.weights[place, feature]),
            float(ranked.values[place, feature] * ranked.weights[place, feature]),
            float(read.users[place, feature]),
        )
        for feature in Feature
        if not (arm == OFF and feature in PROPAGATED)
    ]


def _find_strongest(community: BankCommunities) -> I64:
    """Return the places [n, <=5] of the strongest routers for each item.

    They have the largest pi * exp(lift); the largest comes first.
    """
    return np.argsort(-community.shares * np.exp(community.lifts), axis=1, kind="stable")[
        :, :ROUTERS_A_BANK
    ]


def _explain_router_parts(
    bank: BankName,
    community: BankCommunities,
    order: I64,
    place: int,
    names: Mapping[int, str],
) -> list[RouterPart]:
    return [
        RouterPart(
            router=int(community.routers[at]),
            bank=bank,
            name=names.get(int(community.routers[at]), "") if bank == BankName.TASTE else "",
            share=float(community.shares[at]),
            lift=float(community.lifts[place, at]),
            adopters=int(community.adopters[place, at]),
        )
        for at in order
    ]


def explain_in_words(
    parts: Sequence[ScorePart],
    routers: Sequence[RouterPart],
    messages: Sequence[RouterVersion],
    *,
    cold: bool,
    history: Sequence[HistoryPart] = (),
) -> str:
    """Say in words which three parts speak most for an item.

    Also name the communities and messages behind them.

    Args:
        cold: The user has no history: the words mention neither taste nor choices.
        history: The items of the history that raise it most, for the history factor.
    """
    strongest = sorted(
        (
            part
            for part in parts
            if part.product > 0
            and _is_true_of_item(part)
            and (not cold or _tells_newcomers_apart(part))
        ),
        key=lambda part: -part.product,
    )[:REASONS]
    if not strongest:
        return NO_REASON
    words = COLD_WORDS if cold else WORDS
    sentence = join_names([words[part.feature] for part in strongest])
    text = f"{sentence[0].upper()}{sentence[1:]}."
    communities = _quote_distinct(part.name for part in routers if part.name and part.lift > 0)[:2]
    if communities and any(part.feature == Feature.LIFT_TASTE for part in strongest):
        text += f" The community of {join_names(communities)} stands behind it."
    if history and any(part.feature == Feature.HISTORY for part in strongest):
        because = [f"“{part.title or part.item_id}”" for part in history[:2]]
        text += f" That is because this user chose {join_names(because)}."
    if messages:
        senders = _quote_distinct(sorted(message.name for message in messages))
        text += f" Messages from {join_names(senders)} moved this user's profile towards it."
    return text


def _is_true_of_item(part: ScorePart) -> bool:
    """Tell whether the item has more of the feature than others.

    A feature that the item lacks may raise its score too, by a weight below 0; it has no words.
    """
    return part.value > 0 and (part.raw > 0 or part.feature in LOGARITHMS)


def _sum_rest(read: ReadResult, place: int, listed: Sequence[HistoryPart]) -> float | None:
    """Sum the parts of the history factor that are not listed."""
    if not len(read.history):
        return None
    whole = float(read.history_parts[place].sum(dtype=np.float64))
    return whole - sum(part.long_run + part.session for part in listed)


def _tells_newcomers_apart(part: ScorePart) -> bool:
    """Tell whether a part differs between items for a user without history."""
    return part.feature in COLD_WORDS and (part.feature not in OWN or part.raw > 0)


def _quote_distinct(names: Iterable[str]) -> list[str]:
    """Quote names, leaving out those that repeat another's words.

    Names that consist of the same words in another order count as one.
    """
    return list(keep_first((frozenset(name.split()), f"“{name}”") for name in names).values())
