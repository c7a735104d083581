"""Why an item stands where it stands: the exact parts of its score, the communities behind them,
the messages that counted."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from propagation.model.clients.client_text import ClientText
from propagation.model.clients.profile import Author, Line
from propagation.model.routers.epoch import BankName
from propagation.model.routers.router import RouterVersion
from propagation.numbers.rules.features import PROPAGATED, Feature
from propagation.ports.embedder import Embedder
from propagation.ports.graph.rounds import RoundStore
from propagation.workflow.index.embedding import embed_within_deadline
from propagation.workflow.read.scoring import Community, Read
from propagation.workflow.views.numbers_view import OFF

ROUTERS_A_BANK = 5
REASONS = 3
BANKS = (BankName.SESSION, BankName.TASTE)
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
}
# Of a user without history: what was said of the user is all there is to resemble.
COLD_WORDS = {
    Feature.POPULARITY: WORDS[Feature.POPULARITY],
    Feature.RECENT: WORDS[Feature.RECENT],
    Feature.CONTENT: "it resembles what was said of this user",
    Feature.ATTRIBUTES: "it shares attributes with what was said of this user",
    Feature.ADOPTERS: "the people who chose it resemble what was said of this user",
    Feature.PROFILE: "its profile reads like what was said of this user",
}
# Of counts that may be below 1: more than others have is enough.
LOGARITHMS = frozenset({Feature.RECENT, Feature.KNN_SLOW, Feature.KNN_FAST})
OWN = frozenset(COLD_WORDS) - {Feature.POPULARITY, Feature.RECENT}
NOTHING = "Nothing speaks for it in particular: it is what is left."


@dataclass(frozen=True)
class Part:
    """One additive part: raw value, standardised value, weight; product = value times weight.
    Products sum to the score."""

    feature: str
    raw: float
    value: float
    weight: float
    product: float


@dataclass(frozen=True)
class RouterPart:
    """A community the user is read by: pi (0 to 1), the item's lift in it (ln), and how many
    distinct adopters of the item wrote most to it."""

    router: int
    bank: BankName
    name: str
    share: float
    lift: float
    adopters: int


@dataclass(frozen=True)
class Explanation:
    """`messages`: those whose lines in the user's profile raised the score."""

    parts: Sequence[Part]
    routers: Sequence[RouterPart]
    messages: Sequence[RouterVersion]
    text: str


class Explainer:
    """Explains what a read found; asks the store for names and messages only."""

    def __init__(self, store: RoundStore, embedder: Embedder) -> None:
        self._store = store
        self._embedder = embedder

    async def explain(self, read: Read, text: ClientText | None, arm: int) -> list[Explanation]:
        """One explanation an item of the read, in its order. Arm OFF has neither routers nor
        messages."""
        shown = [] if arm == OFF else [_strongest(community) for community in read.communities]
        names = await self._names(read.communities[1], shown[1]) if shown else {}
        heard = await self._heard(read, text) if arm != OFF else [[] for _ in read.ranked.rows]
        out = []
        for place in range(len(read.ranked.rows)):
            parts = parts_of(read, place, arm)
            routers = [
                part
                for bank, community, order in zip(BANKS, read.communities, shown, strict=False)
                for part in _routers(bank, community, order[place], place, names)
            ]
            out.append(
                Explanation(
                    parts,
                    routers,
                    heard[place],
                    in_words(parts, routers, heard[place], cold=read.cold),
                )
            )
        return out

    async def _names(self, taste: Community, order: NDArray[np.int64]) -> dict[int, str]:
        routers = sorted({int(router) for router in taste.routers[order.ravel()]})
        return {
            version.router: version.name for version in await self._store.router_versions(routers)
        }

    async def _heard(self, read: Read, text: ClientText | None) -> list[list[RouterVersion]]:
        """By item, the messages behind the profile lines by reception whose share of the profile's
        cosine speaks for it; none where the lines cannot be embedded now."""
        lines = (
            [line for line in text.profile.lines if line.author == Author.RECEPTION]
            if text is not None
            else []
        )
        nothing: list[list[RouterVersion]] = [[] for _ in read.ranked.rows]
        if not lines or read.item_profiles is None:
            return nothing
        vectors = await embed_within_deadline(
            self._embedder, [line.text for line in lines], "messages of an explanation"
        )
        if vectors is None:
            return nothing
        effect = (read.item_profiles @ vectors.T) * read.ranked.weights[:, Feature.PROFILE, None]
        messages = await self._messages(
            [line for place, line in enumerate(lines) if (effect[:, place] > 0).any()]
        )
        return [
            [
                messages[key]
                for place, line in enumerate(lines)
                if row[place] > 0
                for key in _message_keys(line)
                if key in messages
            ]
            for row in effect
        ]

    async def _messages(self, lines: Sequence[Line]) -> Mapping[tuple[int, int], RouterVersion]:
        return await self._store.messages(
            sorted({key for line in lines for key in _message_keys(line)}), 0
        )


def _message_keys(line: Line) -> list[tuple[int, int]]:
    return [
        (source.router, source.version or 0) for source in line.sources if source.router is not None
    ]


def parts_of(read: Read, place: int, arm: int) -> list[Part]:
    """The parts of one item's score that this arm sees, in the features' order."""
    ranked = read.ranked
    return [
        Part(
            feature.name.lower(),
            float(ranked.raw[place, feature]),
            float(ranked.values[place, feature]),
            float(ranked.weights[place, feature]),
            float(ranked.values[place, feature] * ranked.weights[place, feature]),
        )
        for feature in Feature
        if not (arm == OFF and feature in PROPAGATED)
    ]


def _strongest(community: Community) -> NDArray[np.int64]:
    """[n, <=5] places of the routers that add most to an item's reading: pi exp l, largest first."""
    order: NDArray[np.int64] = np.argsort(
        -community.shares * np.exp(community.lifts), axis=1, kind="stable"
    )[:, :ROUTERS_A_BANK]
    return order


def _routers(
    bank: BankName,
    community: Community,
    order: NDArray[np.int64],
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


def in_words(
    parts: Sequence[Part],
    routers: Sequence[RouterPart],
    messages: Sequence[RouterVersion],
    *,
    cold: bool,
) -> str:
    """The three parts that speak most for the item, and where they come from; no numbers. Of a user
    without history (`cold`) nothing is said of a taste or of choices."""
    strongest = sorted(
        (
            part
            for part in parts
            if part.product > 0 and _is_there(part) and (not cold or _said_when_cold(part))
        ),
        key=lambda part: -part.product,
    )[:REASONS]
    if not strongest:
        return NOTHING
    words = COLD_WORDS if cold else WORDS
    sentence = _joined([words[_feature(part)] for part in strongest])
    text = f"{sentence[0].upper()}{sentence[1:]}."
    communities = _distinct(part.name for part in routers if part.name and part.lift > 0)[:2]
    if communities and any(part.feature == Feature.LIFT_TASTE.name.lower() for part in strongest):
        text += f" The community of {_joined(communities)} stands behind it."
    if messages:
        text += f" This user's profile heard of it from {_joined(_distinct(sorted(message.name for message in messages)))}."
    return text


def _is_there(part: Part) -> bool:
    """Whether the words are true of the item: it has more than others of what they say, and some of
    it. What an item lacks may speak for it as well, by a weight below 0, and is not put into words.
    """
    return part.value > 0 and (part.raw > 0 or _feature(part) in LOGARITHMS)


def _said_when_cold(part: Part) -> bool:
    """A part that is the same for every item of such a user (a raw value of nothing) says nothing
    of this one."""
    feature = _feature(part)
    return feature in COLD_WORDS and (feature not in OWN or part.raw > 0)


def _feature(part: Part) -> Feature:
    return Feature[part.feature.upper()]


def _distinct(names: Iterable[str]) -> list[str]:
    """Names in quotation marks; two routers of the same words, in whatever order, are one community
    to a person."""
    first: dict[frozenset[str], str] = {}
    for name in names:
        first.setdefault(frozenset(name.split()), f"“{name}”")
    return list(first.values())


def _joined(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
