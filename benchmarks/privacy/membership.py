"""Membership inference: can a caller find out which item a user took?

An attacker knows of each victim that it took one of two new items, which nothing else tells apart.
The attacker has the token of one role, and a few accounts of its own with the victims' taste. Some
of the accounts take both items, too. The attacker compares the signs that the service shows of the
two items. For half of the victims it knows the answer: there it learns which signs to trust, and
whether more of a sign means taken or not taken. For the other half it guesses, by a coin if no sign
differs. The advantage is 2 * (share of right guesses) - 1: 0 for a coin, 1 for certainty.
"""

import asyncio
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import grpc
import numpy as np

from benchmarks.run import Figures, Run
from benchmarks.service.real_service import serving
from propagation.v1 import propagation_pb2 as pb
from propagation.v1 import propagation_pb2_grpc as pb_grpc
from services.security.roles import Role
from services.security.tokens import create_token, write_tokens

SUPPORTS = (1, 2, 5)
VICTIMS, VICTIMS_SHORT = 240, 12
CROWDS = ((0, 0), (3, 0), (0, 1), (0, 4))
"""Pairs (other users, accounts of the attacker) that take the two items.

So many other users, on average, take each item of a victim; so many accounts take both items.
"""
GENRES = ("jazz", "opera", "folk", "punk")
KNOWN_ITEMS, BACKGROUND_USERS, EVENTS_A_USER, OWN_ACCOUNTS = 80, 60, 12, 5
PART = 200
SEED = 20
PATIENCE_SECONDS = 600.0
ITEM = pb.CLIENT_KIND_ITEM


@dataclass(frozen=True)
class Case:
    """A victim, the item it took, and one that it did not."""

    victim: str
    genre: int
    taken: str
    other: str


def word_of(item: str) -> str:
    """Return the attribute that only this item has."""
    return f"word {item.replace('-', ' ')}"


Signs = Sequence[float]


@dataclass(frozen=True)
class Attacker:
    """A caller with one role's token.

    Attributes:
        routers: All routers, as text; empty if the role may not read them.
        session_items: The session routers with their items, as text; empty likewise.
    """

    stub: pb_grpc.PropagationServiceStub
    metadata: tuple[tuple[str, str], ...]
    routers: str
    session_items: str

    @classmethod
    async def begin(cls, stub: pb_grpc.PropagationServiceStub, secret: str) -> "Attacker":
        """Read the routers if the role may."""
        metadata = (("authorization", f"Bearer {secret}"),)
        try:
            routers = await stub.ListRouters(
                pb.ListRoutersRequest(page_size=1_000), metadata=metadata
            )
            session = [
                await stub.GetRouter(
                    pb.GetRouterRequest(number=number, bank=pb.BANK_SESSION, page_size=1_000),
                    metadata=metadata,
                )
                for number in range(4)
            ]
        except grpc.aio.AioRpcError:
            return cls(stub, metadata, "", "")
        return cls(stub, metadata, str(routers), str(session))

    async def read_items(self, item: str) -> Signs:
        """Return the signs of an item that role read sees, strongest first."""
        key = pb.ClientKey(kind=ITEM, id=item)
        profile = await self.stub.GetProfile(pb.GetProfileRequest(key=key), metadata=self.metadata)
        similar = await self.stub.SimilarClients(
            pb.SimilarClientsRequest(key=key, kind=ITEM, limit=20), metadata=self.metadata
        )
        known = [one.similarity for one in similar.neighbours if one.key.id.startswith("known")]
        try:
            await self.stub.TracePropagation(
                pb.TracePropagationRequest(attribute=word_of(item)), metadata=self.metadata
            )
            traced = 1.0
        except grpc.aio.AioRpcError:
            traced = 0.0
        return (
            float(f'"{item}"' in self.session_items),
            float(word_of(item) in self.routers),
            traced,
            float(profile.profile.version),
            float(sum(len(line.sources) for line in profile.profile.lines)),
            float(len(profile.profile.lines)),
            round(sum(known), 4),
        )

    async def own_recommendations(self, item: str) -> Signs:
        """Return the sum of the item's scores for the attacker's accounts."""
        scores = []
        for account in range(OWN_ACCOUNTS):
            answer = await self.stub.Recommend(
                pb.RecommendRequest(user_id=f"own-{account}", candidate_ids=[item]),
                metadata=self.metadata,
            )
            scores += [one.score for one in answer.recommendations]
        return (round(sum(scores), 6),)


async def victims_recommendations(attacker: Attacker, victim: str, item: str) -> Signs:
    """Recommend in the victim's name: an item that it took is missing."""
    answer = await attacker.stub.Recommend(
        pb.RecommendRequest(user_id=victim, candidate_ids=[item], exclude_seen=True),
        metadata=attacker.metadata,
    )
    return (-float(len(answer.recommendations)),)


def measure(run: Run) -> Figures:
    """Measure the advantage of each attack, for all CROWDS and SUPPORTS.

    A short run has two crowds, one with accounts of the attacker.
    """
    cases = VICTIMS_SHORT if run.short else VICTIMS
    for others, own in CROWDS[1:3] if run.short else CROWDS:
        for support in SUPPORTS:
            shares = asyncio.run(_attack(run, cases, others, own, support))
            for attack, right in shares.items():
                advantage, margin = (
                    2 * right - 1,
                    2 * 1.96 * math.sqrt(_variance(right, cases // 2)),
                )
                run.note(
                    f"others {others}, own accounts {own}, min_support {support}, {attack}:"
                    f" advantage {advantage:+.2f} ± {margin:.2f}"
                )
                if (others, own, support, attack) == (3, 0, 2, "read"):
                    yield "membership_advantage_read", advantage


def _variance(share: float, number: int) -> float:
    """Return the variance of a share, with one success and failure added.

    Source: Agresti and Coull.
    """
    middle = (share * number + 1) / (number + 2)
    return middle * (1 - middle) / (number + 2)


async def _attack(run: Run, number: int, others: int, own: int, support: int) -> dict[str, float]:
    folder = run.scratch / f"membership-{others}-{own}-{support}"
    folder.mkdir()
    roles = {role: create_token(f"a-{role}", [role]) for role in Role}
    write_tokens(folder / "tokens", [token for _, token in roles.values()])
    secrets = {role: secret for role, (secret, _) in roles.items()}
    with serving(folder / "graph.db", *_settings(folder, support)) as service:
        async with grpc.aio.insecure_channel(service.address) as channel:
            stub = pb_grpc.PropagationServiceStub(channel)
            cases = await _live(stub, secrets[Role.ADMIN], number, others, own)
            return await _guess(stub, secrets, cases)


def _settings(folder: Path, support: int) -> list[str]:
    values = {
        "server.tokens": folder / "tokens",
        "min_support": support,
        "taste.k": 8,
        "session.k": 4,
        "auto_create": "true",
        "round_interval": 3600,
    }
    return [part for name, value in values.items() for part in ("--set", f"{name}={value}")]


async def _live(
    stub: pb_grpc.PropagationServiceStub, secret: str, number: int, others: int, own: int
) -> list[Case]:
    """Record the catalogue, other users, the attacker's accounts and the victims.

    Args:
        others: How many other users take each of the two items, on average.
        own: How many of the attacker's accounts take both, after the victims.
    """
    rng = np.random.default_rng(SEED)
    metadata = (("authorization", f"Bearer {secret}"),)
    known = [(f"known-{row}", GENRES[row % 4], ()) for row in range(KNOWN_ITEMS)]
    cases = []
    for row in range(number):
        pair = [f"new-{row}-{side}" for side in "ab"]
        taken = int(rng.integers(2))
        cases.append(Case(f"victim-{row}", row % 4, pair[taken], pair[1 - taken]))
    new = [
        (item, GENRES[case.genre], (word_of(item),))
        for case in cases
        for item in sorted((case.taken, case.other))
    ]
    clients = [
        pb.Client(
            key=pb.ClientKey(kind=ITEM, id=item), title=f"Record {item}", attributes=[genre, *words]
        )
        for item, genre, words in (*known, *new)
    ]
    for start in range(0, len(clients), PART):
        await stub.UpsertClients(
            pb.UpsertClientsRequest(clients=clients[start : start + PART]), metadata=metadata
        )

    def tastes(user: str, genre: int, count: int) -> list[tuple[str, str]]:
        rows = rng.choice(KNOWN_ITEMS // 4, count, replace=False) * 4 + genre
        return [(user, f"known-{row}") for row in rows]

    users = [f"user-{row}" for row in range(BACKGROUND_USERS)]
    pairs = [
        pair for row, user in enumerate(users) for pair in tastes(user, row % 4, EVENTS_A_USER)
    ]
    for account in range(OWN_ACCOUNTS):
        pairs += tastes(f"own-{account}", account % 4, 4)
    for case in cases:
        pairs += tastes(case.victim, case.genre, 4)
    last = [(case.victim, case.taken) for case in cases]
    for case in cases:
        for item in (case.taken, case.other):
            takers = rng.choice(users, min(int(rng.poisson(others)), len(users)), replace=False)
            last += [(str(user), item) for user in takers]
    probes = [
        (f"own-{account}", item)
        for account in range(own)
        for case in cases
        for item in (case.taken, case.other)
    ]
    for part in (pairs, last, probes):
        rng.shuffle(part)
        for start in range(0, len(part), PART):
            events = [
                pb.Interaction(event_id=f"{user} {item}", user_id=user, item_id=item)
                for user, item in part[start : start + PART]
            ]
            await stub.RecordInteractions(
                pb.RecordInteractionsRequest(interactions=events), metadata=metadata
            )
            await stub.RunRound(
                pb.RunRoundRequest(drain=True), metadata=metadata, timeout=PATIENCE_SECONDS
            )
    return cases


async def _guess(
    stub: pb_grpc.PropagationServiceStub, secrets: dict[Role, str], cases: Sequence[Case]
) -> dict[str, float]:
    """Return the share of right guesses of each attack."""
    attackers = {role: await Attacker.begin(stub, secret) for role, secret in secrets.items()}
    reader, front = attackers[Role.READ], attackers[Role.APPLICATION]
    signs: dict[str, list[Signs]] = {}
    for case in cases:
        for item in (case.taken, case.other):
            for attack, found in (
                ("write", ()),  # it reads nothing
                ("read", await reader.read_items(item)),
                ("application, own accounts", await front.own_recommendations(item)),
                (
                    "application, naming the user",
                    await victims_recommendations(front, case.victim, item),
                ),
                (
                    "persons",
                    await victims_recommendations(attackers[Role.PERSONS], case.victim, item),
                ),
            ):
                signs.setdefault(attack, []).append(found)
    return {
        attack: share_of_right_guesses(list(zip(found[::2], found[1::2], strict=True)))
        for attack, found in signs.items()
    }


def share_of_right_guesses(pairs: Sequence[tuple[Signs, Signs]]) -> float:
    """Return the share of right guesses on the second half of victims.

    The first half decides how much each sign counts.

    Args:
        pairs: For each victim, the signs of the item that it took and of the other item.
    """
    half = len(pairs) // 2
    worth = []
    for sign in range(len(pairs[0][0])):
        sides = [np.sign(taken[sign] - other[sign]) for taken, other in pairs[:half]]
        worth.append(sum(sides) / max(sum(side != 0 for side in sides), 1))
    order = sorted(range(len(worth)), key=lambda sign: -abs(worth[sign]))
    rng = np.random.default_rng(SEED + 1)
    right = 0
    for taken, other in pairs[half:]:
        sides = [(taken[sign] - other[sign]) * worth[sign] for sign in order]
        differing = [side > 0 for side in sides if side != 0]
        right += differing[0] if differing else bool(rng.integers(2))
    return right / (len(pairs) - half)
