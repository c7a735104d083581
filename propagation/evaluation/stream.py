"""The input of an evaluation: its settings, texts and events.

Users and items have rows instead of ids, and the order of rows means nothing.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from pydantic import Field

from propagation.datasets.dataset import Dataset
from propagation.model import (
    I64,
    U32,
    Client,
    InvalidInput,
    Term,
    compute_ref,
    pluralize,
    to_seconds,
)
from propagation.workflow.index import write_attribute_text, write_content_text
from propagation.workflow.settings import RankerSettings

LEAST_EVENTS = 50
LEAST_ITEMS = 3
WORTH_TELLING = 0.01


class EvaluationSettings(Term):
    """Settings of an evaluation.

    Args:
        seeds: Passes run for each seed; those of the median seed are reported.
        session_k: How many session routers there are; likewise taste_k.
        tau: Threshold on the cosine (eq. 4) in the semantic arm; None: the .90 quantile.
        report_from: First event (0-based) of the reported slice; None: two fifths of the stream.
        every: Rank only one event in so many; all are learned.
        ranker: What the ranker learns beside the routers.
        exclude_future: Never rank a target against items that its user takes later.
    """

    seeds: Sequence[int] = Field((1, 2, 3), min_length=1)
    session_k: int = Field(80, ge=2, le=4096)
    taste_k: int = Field(80, ge=2, le=4096)
    tau: float | None = Field(None, ge=-1, le=1)
    report_from: int | None = Field(None, ge=0)
    every: int = Field(1, ge=1)
    exclude_future: bool = False
    ranker: RankerSettings = RankerSettings()
    plot_points: int = Field(20, ge=2, le=500)


@dataclass(frozen=True)
class Stream:
    """Texts and events of U users and I items, as meaningless rows.

    Args:
        item_texts: [I] the texts that the embedder reads of each item; likewise attribute_texts.
        user: [E] row of each event's user; likewise item.
        time: [E] time of each event, in milliseconds since 1970.
        event: [E] places in the dataset's order of time.
        fixed: [U,C] rows of each user's fixed candidates, filled up with -1; None: there are none.
        notes: Remarks of the loader, and on texts and times.
    """

    name: str
    item_texts: Sequence[str]
    attribute_texts: Sequence[str]
    user: I64
    item: I64
    time: I64
    event: I64
    fixed: I64 | None = None
    notes: Sequence[str] = ()

    @property
    def users(self) -> int:
        """The number of users."""
        return int(self.user.max()) + 1 if len(self.user) else 0

    @property
    def seconds(self) -> U32:
        """The times as the numbers take them, [E] u32."""
        return to_seconds(self.time)

    @property
    def items(self) -> int:
        """The number of items."""
        return len(self.item_texts)

    def check(self) -> None:
        """Check that there is something to rank.

        Raises:
            InvalidInput: The stream has too few events or items.
        """
        if len(self.user) < LEAST_EVENTS:
            raise InvalidInput(
                "events",
                f"{self.name} has {pluralize(len(self.user), 'event')}; an evaluation needs at "
                f"least {LEAST_EVENTS}. A catalogue alone can be imported and searched, but there "
                "is nothing to rank",
            )
        if self.items < LEAST_ITEMS:
            raise InvalidInput(
                "items",
                f"{self.name} has {pluralize(self.items, 'item')}; an evaluation needs at least"
                f" {LEAST_ITEMS}",
            )

    def shuffle(self, seed: int) -> "Stream":
        """Return the stream in time order, with shuffled rows and ties.

        So a ranking can learn nothing from a row number or from the order of a file.
        """
        rng = np.random.default_rng(seed)
        users, items = self.draw_rows(rng)
        return self.rearrange(users, items, np.lexsort((rng.random(len(self.time)), self.time)))

    def draw_rows(self, rng: np.random.Generator) -> tuple[I64, I64]:
        """Draw other rows for users [U] and items [I]."""
        return rng.permutation(self.users), rng.permutation(self.items)

    def rearrange(self, users: I64, items: I64, order: I64) -> "Stream":
        """Return the stream with other rows and another order of events.

        Args:
            users: [U] the new row of each user; likewise items [I].
            order: [E] the event that comes to each place.
        """
        back = np.argsort(items)
        return Stream(
            self.name,
            [self.item_texts[row] for row in back],
            [self.attribute_texts[row] for row in back],
            users[self.user[order]],
            items[self.item[order]],
            self.time[order],
            self.event[order],
            None if self.fixed is None else np.append(items, -1)[self.fixed[np.argsort(users)]],
            self.notes,
        )


def build_stream(dataset: Dataset, candidates: Mapping[str, Sequence[str]] | None = None) -> Stream:
    """Return a dataset as a stream without ids.

    Texts are as the live embedder reads them.

    Args:
        candidates: Fixed candidates by user; items that the dataset lacks are left out.
    """
    clients = [
        change.apply_to(Client(ref=compute_ref(change.key.kind, row), key=change.key))
        for row, change in enumerate(dataset.items)
    ]
    texts = [write_content_text(client) for client in clients]
    user, item, time = dataset.rows()
    fixed = None if candidates is None else _build_fixed(dataset, candidates)
    notes = [*dataset.notes, *_write_remarks(texts, user, item, time)]
    if candidates is not None and fixed is not None:
        notes.append(_describe_fixed(dataset, candidates, fixed, user, item))
    return Stream(
        dataset.name,
        texts,
        [write_attribute_text(client) for client in clients],
        user,
        item,
        time,
        np.arange(len(user)),
        fixed,
        notes,
    )


def _build_fixed(dataset: Dataset, candidates: Mapping[str, Sequence[str]]) -> I64:
    """Return [U,C] rows of fixed candidates, filled up with -1."""
    rows = {item.key.id: row for row, item in enumerate(dataset.items)}
    known = [
        [rows[item] for item in candidates.get(user.key.id, ()) if item in rows]
        for user in dataset.users
    ]
    fixed = np.full((len(known), max(map(len, known), default=0)), -1)
    for row, found in enumerate(known):
        fixed[row, : len(found)] = found
    return fixed


def _write_remarks(texts: Sequence[str], user: I64, item: I64, time: I64) -> Iterator[str]:
    """Yield remarks on the data that a reader of the figures needs."""
    textless, unused = texts.count(""), len(texts) - len(np.unique(item))
    if textless:
        yield (
            f"Items without text: {textless:,} of {len(texts):,}. Each has a random vector for its"
            " content."
        )
    if unused:
        yield (
            f"Items without events: {unused:,} of {len(texts):,}. They are easy negatives; N@10"
            " matched counts negatives of the target's kind only."
        )
    _, of_moment, sizes = np.unique(
        np.stack([user, time]), axis=1, return_inverse=True, return_counts=True
    )
    tied = np.mean(sizes[of_moment] > 1) if len(user) else 0.0
    if tied >= WORTH_TELLING:
        yield (
            f"{tied:.0%} of the events have the same time as another event of their user; each"
            " seed draws their order."
        )


def _describe_fixed(
    dataset: Dataset, candidates: Mapping[str, Sequence[str]], fixed: I64, user: I64, item: I64
) -> str:
    """Count the fixed candidates, and those among them that their users have."""
    items = len(dataset.items)
    pairs = np.arange(len(fixed))[:, None] * items + fixed
    had = int(np.isin(pairs[fixed >= 0], user * items + item).sum())
    used = int((fixed >= 0).sum())
    listed = sum(len(candidates.get(user.key.id, ())) for user in dataset.users)
    return (
        f"Fixed candidates: {used:,}, of {int((fixed >= 0).any(axis=1).sum()):,} of"
        f" {pluralize(len(fixed), 'user')}; {listed - used:,} more are not in the catalogue."
        f" {had:,} are items that their user has, the target included."
    )
