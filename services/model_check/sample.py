"""The questions of a check, made from a dataset."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from propagation.adapters.offline.extract import extract_lines
from propagation.adapters.offline.reasoner import OfflineReasoner
from propagation.datasets.dataset import Dataset
from propagation.model import (
    I64,
    Client,
    ClientChange,
    ClientKind,
    FilterMemory,
    Profile,
    PropagationError,
    ReasonerFailed,
    ReasonWork,
    RouterVersion,
    compute_ref,
    pluralize,
)
from propagation.ports import Integration, Party

CALL_SIZES = (1, 4, 10)
QUESTIONS_A_BLOCK = 60
"""For each such number of questions, the clients of the largest call are described once more."""
INTERACTION_SHARE, LEAST_INTERACTIONS, LEAST_PAIRS = 1 / 12, 2, 4
HISTORY, NEIGHBOURS = 8, 6


class NothingToAsk(PropagationError):
    """No questions can be made from a dataset."""


@dataclass(frozen=True)
class Pair:
    """A user, its next choice, and an item it never had.

    The user is shown as it was after its first choices.

    Attributes:
        work: The interaction as the learner would hand it over.
    """

    work: ReasonWork
    user: Party
    chosen: Party
    passed: Party


@dataclass(frozen=True)
class Sample:
    """Everything that a check asks about.

    Attributes:
        pairs: To choose between, in both orders.
        interactions: Pairs whose user heard a message, for whole interactions.
        descriptions: Clients of one call each.
        events: The events of the data that a service would reason about.
        items: The items of the data that have a text.
        notes: One sentence for each thing that is missing.
    """

    pairs: Sequence[Pair]
    interactions: Sequence[Pair]
    descriptions: Sequence[Sequence[Client]]
    events: int
    items: int
    notes: tuple[str, ...] = ()


async def draw_sample(dataset: Dataset, questions: int, seed: int) -> Sample:
    """Draw about as many questions from a dataset.

    A pair counts as two questions, and so does an interaction.

    Raises:
        NothingToAsk: There are fewer than two items with a text, or no user has two of them.
    """
    rng = np.random.default_rng(seed)
    items = {
        row: change.apply_to(Client(compute_ref(ClientKind.ITEM, row), change.key))
        for row, change in enumerate(dataset.items)
        if _has_text(change)
    }
    if len(items) < 2:
        raise NothingToAsk(
            f"{dataset.name} has {pluralize(len(items), 'item')} with a text, and a choice needs"
            " two: give --data a folder whose catalogue has titles, or leave it out"
        )
    blocks = max(1, questions // QUESTIONS_A_BLOCK)
    described = _draw_described(rng, items, blocks * max(CALL_SIZES))
    sizes = sorted({min(size, len(described)) for size in CALL_SIZES})
    calls = [
        described[start : start + size]
        for size in sizes
        for start in range(0, len(described) - size + 1, size)
    ]
    interactions = max(LEAST_INTERACTIONS, round(questions * INTERACTION_SHARE))
    wanted = max(LEAST_PAIRS, (questions - len(calls) - 2 * interactions) // 2)
    pairs = await _build_pairs(rng, dataset, items, wanted)
    if not pairs:
        raise NothingToAsk(
            f"no user of {dataset.name} has events with two items that have texts, and lacks a"
            " third: give --data a folder with such events, or leave it out"
        )
    heard = await _write_message(rng, list(items.values()))
    return Sample(
        pairs,
        [_let_hear(pair, heard) for pair in pairs[:interactions]],
        calls,
        len(dataset),
        len(items),
        _write_notes(dataset, len(pairs), wanted, len(described), blocks * max(CALL_SIZES)),
    )


def _has_text(change: ClientChange) -> bool:
    return bool(change.title or change.description or change.attributes or change.categories)


def _draw_described(
    rng: np.random.Generator, items: Mapping[int, Client], most: int
) -> list[Client]:
    """Draw items to describe.

    If any items have titles, only these are drawn: a description is to name its item.
    """
    titled = [item for item in items.values() if item.title] or list(items.values())
    return [titled[place] for place in rng.permutation(len(titled))[:most].tolist()]


async def _build_pairs(
    rng: np.random.Generator, dataset: Dataset, items: Mapping[int, Client], most: int
) -> list[Pair]:
    """Build a pair for each of at most `most` users."""
    users, rows = _read_first_events(dataset, items)
    had = np.bincount(users, minlength=len(dataset.users))
    eligible = rng.permutation(np.flatnonzero((had >= 2) & (had < len(items))))
    pairs = []
    for user in eligible[:most].tolist():
        history = rows[users == user].tolist()
        unknown = sorted(items.keys() - set(history))
        passed = items[unknown[int(rng.integers(len(unknown)))]]
        change = dataset.users[user]
        party = Party(
            change.apply_to(Client(compute_ref(ClientKind.USER, user), change.key)),
            Profile(compute_ref(ClientKind.USER, user)),
            FilterMemory(),
        )
        before = min(HISTORY, len(history) - 1)
        party = await _live_through(party, [items[row] for row in history[:before]])
        chosen = items[history[before]]
        work = ReasonWork(HISTORY + 1, party.client.ref, chosen.ref, passed.ref, 1.0, None, None)
        pairs.append(Pair(work, party, _show_item(chosen), _show_item(passed)))
    return pairs


def _read_first_events(dataset: Dataset, items: Mapping[int, Client]) -> tuple[I64, I64]:
    """Return rows of users and items, in the order of time.

    Only items with a text count, and only a user's first event with an item.
    """
    users, rows, _ = dataset.rows()
    with_text = np.zeros(len(dataset.items), np.bool_)
    with_text[list(items)] = True
    kept = with_text[rows]
    users, rows = users[kept], rows[kept]
    _, first = np.unique(users * len(dataset.items) + rows, return_index=True)
    first.sort()
    return users[first], rows[first]


async def _live_through(user: Party, history: Sequence[Client]) -> Party:
    """Give a user the offline reasoner's lines after these choices."""
    offline = OfflineReasoner()
    profile = user.profile.apply_edits(extract_lines(user.client), len(history) + 2)
    for sequence, item in enumerate(history, 1):
        work = ReasonWork(sequence, user.client.ref, item.ref, None, 1.0, None, None)
        before = Party(user.client, profile, user.filter_memory)
        answer = await offline.backward(work, None, before, _show_item(item), None)
        [part, _] = answer.clients
        if not isinstance(part, ReasonerFailed):
            profile = profile.apply_edits(part.edits, len(history) + 2)
    return Party(user.client, profile, user.filter_memory)


def _show_item(item: Client) -> Party:
    """Return an item with the lines that the catalogue gives it."""
    profile = Profile(item.ref).apply_edits(extract_lines(item), 2)
    return Party(item, profile, FilterMemory())


async def _write_message(rng: np.random.Generator, items: Sequence[Client]) -> RouterVersion:
    """Write the message of a router that some items belong to."""
    drawn = [items[place] for place in rng.permutation(len(items))[:NEIGHBOURS].tolist()]
    names = Counter(name for item in drawn for name in sorted(_show_item(item).profile.attributes))
    standing = {name: float(count) for name, count in names.items()}
    summarized = await OfflineReasoner().summarize(
        [Integration(0, None, names, standing, {}, [item.title for item in drawn if item.title])]
    )
    [summary] = summarized.summaries
    assert not isinstance(summary, ReasonerFailed)
    name = ", ".join(name for name, _ in names.most_common(2))
    return RouterVersion(0, 1, 1, 1, name, summary.text, tuple(names))


def _let_hear(pair: Pair, message: RouterVersion) -> Pair:
    user = Party(pair.user.client, pair.user.profile, pair.user.filter_memory, (message,))
    return Pair(pair.work, user, pair.chosen, pair.passed)


def _write_notes(
    dataset: Dataset, pairs: int, wanted: int, described: int, wanted_described: int
) -> tuple[str, ...]:
    notes = list(dataset.notes)
    if pairs < wanted:
        notes.append(
            f"Only {pluralize(pairs, 'user')} can be asked about, so there are"
            f" {pluralize(2 * pairs, 'choice')} instead of {2 * wanted}."
        )
    if described < wanted_described:
        notes.append(
            f"Only {pluralize(described, 'item')} can be described, instead of {wanted_described}."
        )
    return tuple(notes)
