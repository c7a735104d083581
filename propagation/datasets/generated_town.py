"""A generated dataset with planted communities and waves of new tastes.

A community has its own places within styles that several communities share, so content alone does
not tell which of two dumpling stalls its people visit. Each community has one wave, in which it
takes up an attribute that is new to the town: first its pioneers, then the others. Everything
follows from the seed.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.random import Generator

from propagation.datasets.dataset import Dataset, Events, assemble, create_without_text
from propagation.datasets.town_words import ADJECTIVES, FASHIONS, KINDS, NAMES, QUARTERS
from propagation.model import F64, I64, ClientChange, ClientKey, ClientKind

USERS, EVENTS = 320, 12_000
ITEMS_A_STYLE, ITEMS_A_WAVE = 14, 10
STYLES_A_COMMUNITY, OWN_ITEMS_A_STYLE = 8, 3
PIONEERS = 6
PIONEER_SHARE = 0.35
WAVES_FROM, WAVES_UNTIL, WAVE_LENGTH = 0.30, 0.70, 0.25
HABIT, WAVE_CHANCE = 0.80, 0.45
FIRST_DAY_MS = 1_767_225_600_000
DAYS = 90
DAY_MS = 86_400_000


@dataclass(frozen=True)
class Wave:
    """A community takes up an attribute by adopting items that have it.

    Its pioneers begin at event `start` in the order of time, the others at event `spread`. The wave
    ends at event `end`.
    """

    community: str
    attribute: str
    items: tuple[str, ...]
    pioneers: tuple[str, ...]
    start: int
    spread: int
    end: int


@dataclass(frozen=True)
class Town:
    """A dataset with its planted communities of users and its waves."""

    dataset: Dataset
    communities: dict[str, str]
    waves: tuple[Wave, ...]


@dataclass
class _Plan:
    """The town in rows instead of names.

    Args:
        items: ITEMS_A_STYLE items of each style in turn, then the items of the waves.
        own: By community, rows of its own items.
        wave_items: By community, rows of the items of its wave.
        homes: [U] the community of each user.
    """

    items: list[ClientChange] = field(default_factory=list)
    own: list[I64] = field(default_factory=list)
    wave_items: list[I64] = field(default_factory=list)
    homes: I64 = field(default_factory=lambda: np.zeros(0, np.int64))


def generate_town(seed: int, users: int = USERS, events: int = EVENTS) -> Town:
    """Generate the town of a seed.

    The same seed and sizes give the same town, to the byte. Every town has the same number of
    items.
    """
    rng = np.random.default_rng(seed)
    plan = _make_plan(rng, users)
    names = [
        f"{NAMES[name]}-{number}".casefold()
        for number, name in enumerate(rng.integers(len(NAMES), size=users).tolist(), 1)
    ]
    waves = _make_waves(rng, plan, names, events)
    log = _make_events(rng, plan, names, waves, events)
    dataset = assemble(
        f"generated town, seed {seed}",
        items={item.key.id: item for item in plan.items},
        users={name: create_without_text(ClientKind.USER, name) for name in names},
        log=log,
        seed=seed,
        notes=[
            f"All of it is generated: {len(QUARTERS)} communities and {len(waves)} waves are"
            " planted."
        ],
        generated=True,
    )
    return Town(
        dataset,
        communities={
            name: QUARTERS[place] for name, place in zip(names, plan.homes.tolist(), strict=True)
        },
        waves=waves,
    )


def _make_plan(rng: Generator, users: int) -> _Plan:
    plan = _Plan()
    for kind in range(len(KINDS)):
        for style in KINDS[kind].styles:
            for _ in range(ITEMS_A_STYLE):
                _add_item(rng, plan, kind, KINDS[kind].nouns, style)
    plan.homes = rng.permutation(np.arange(users) % len(QUARTERS))
    plan.own = [_choose_own_items(rng, plan) for _ in QUARTERS]
    for fashion in FASHIONS:
        first = len(plan.items)
        for _ in range(ITEMS_A_WAVE):
            _add_item(rng, plan, fashion.kind, fashion.nouns, fashion.attribute)
        plan.wave_items.append(np.arange(first, len(plan.items)))
    return plan


def _draw_title(rng: Generator, plan: _Plan, kind: int, nouns: Sequence[str]) -> str:
    """Draw a title that no other item has."""
    while True:
        adjective, name, noun = (str(rng.choice(words)) for words in (ADJECTIVES, NAMES, nouns))
        title = KINDS[kind].title.format(adjective=adjective, name=name, noun=noun)
        if all(item.title != title for item in plan.items):
            return title


def _add_item(rng: Generator, plan: _Plan, kind: int, nouns: Sequence[str], style: str) -> None:
    title = _draw_title(rng, plan, kind, nouns)
    item = title.casefold().replace("'", "").replace(" ", "-")
    plan.items.append(
        ClientChange(
            key=ClientKey(kind=ClientKind.ITEM, id=item),
            title=title,
            attributes=(style,),
            categories=(KINDS[kind].category,),
            description=KINDS[kind].description.format(style=style),
        )
    )


def _choose_own_items(rng: Generator, plan: _Plan) -> I64:
    """Draw the rows of a community's own items, by its styles.

    The plan must not have any items of waves yet.
    """
    styles = np.arange(len(plan.items)) // ITEMS_A_STYLE
    liked = rng.choice(int(styles.max()) + 1, STYLES_A_COMMUNITY, replace=False)
    return np.concatenate(
        [
            rng.choice(np.flatnonzero(styles == style), OWN_ITEMS_A_STYLE, replace=False)
            for style in liked
        ]
    )


def _make_waves(rng: Generator, plan: _Plan, names: Sequence[str], events: int) -> tuple[Wave, ...]:
    starts = np.linspace(WAVES_FROM, WAVES_UNTIL, len(QUARTERS)) * events
    waves = []
    for place, community in enumerate(rng.permutation(len(QUARTERS)).tolist()):
        start, length = int(starts[place]), int(WAVE_LENGTH * events)
        members = np.flatnonzero(plan.homes == community)
        pioneers = rng.choice(members, min(PIONEERS, len(members)), replace=False)
        waves.append(
            Wave(
                community=QUARTERS[community],
                attribute=FASHIONS[community].attribute,
                items=tuple(plan.items[row].key.id for row in plan.wave_items[community].tolist()),
                pioneers=tuple(names[user] for user in pioneers.tolist()),
                start=start,
                spread=start + int(PIONEER_SHARE * length),
                end=start + length,
            )
        )
    return tuple(waves)


def _make_events(
    rng: Generator, plan: _Plan, names: Sequence[str], waves: Sequence[Wave], events: int
) -> Events:
    log, had = Events("town"), [set[int]() for _ in names]
    waves_of = {wave.community: wave for wave in waves}
    # How well known each item is; the items of waves are unknown.
    pull = np.sqrt(1.0 / (1.0 + rng.permutation(len(plan.items)).astype(np.float64)))
    pull[np.concatenate(plan.wave_items)] = 0.0
    activity = rng.dirichlet(np.full(len(names), 4.0))
    users = rng.choice(len(names), events, p=activity).tolist()
    times = FIRST_DAY_MS + np.sort(rng.integers(DAYS * DAY_MS, size=events))
    for number, user in enumerate(users):
        community = int(plan.homes[user])
        wave = waves_of[QUARTERS[community]]
        in_wave = wave.start <= number < wave.end and (
            number >= wave.spread or names[user] in wave.pioneers
        )
        item = _choose_item(rng, plan, community, in_wave, pull, had[user])
        had[user].add(item)
        log.append(names[user], plan.items[item].key.id, int(times[number]))
    return log


def _choose_item(
    rng: Generator,
    plan: _Plan,
    community: int,
    in_wave: bool,
    pull: F64,
    had: set[int],
) -> int:
    """Choose an item that the user has not had.

    Args:
        in_wave: Whether the user takes part in the community's wave now.
        pull: [I] how well known each item is, by which other items are drawn.
        had: Rows of the items that the user has had.

    Returns:
        The row of an item of the wave, of an own item of the community, or of any known item.
    """
    sources = []
    if in_wave and rng.random() < WAVE_CHANCE:
        sources.append(plan.wave_items[community])
    if rng.random() < HABIT:
        sources.append(plan.own[community])
    for rows in sources:
        remaining = [row for row in rows.tolist() if row not in had]
        if remaining:
            return int(rng.choice(remaining))
    left_over = pull.copy()
    left_over[list(had)] = 0.0
    return int(rng.choice(len(pull), p=left_over / left_over.sum()))
