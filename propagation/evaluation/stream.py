"""The input of an evaluation: its settings, texts and events.

Texts and events have no ids, and rows carry no meaning.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from pydantic import Field

from propagation.arrays import I64
from propagation.datasets.dataset import Dataset
from propagation.model import Client, InvalidInput, Term, pluralize, ref_of
from propagation.workflow.index.embedding import attribute_text, content_text

LEAST_EVENTS = 50
LEAST_ITEMS = 3


class EvaluationSettings(Term):
    """Settings of an evaluation.

    Args:
        seeds: One pass each; the median is reported.
        tau: Of the semantic arm; None is the .90 quantile.
        report_from: First event (0-based) of the reported slice; None is two fifths of the stream.
        every: Rank only one event in so many; all are learned.
    """

    seeds: Sequence[int] = Field((1, 2, 3), min_length=1)
    session_k: int = Field(80, ge=2, le=4096)
    taste_k: int = Field(80, ge=2, le=4096)
    tau: float | None = Field(None, ge=-1, le=1)
    report_from: int | None = Field(None, ge=0)
    every: int = Field(1, ge=1)
    plot_points: int = Field(20, ge=2, le=500)


@dataclass(frozen=True)
class Stream:
    """Texts and events; the order of rows means nothing.

    Args:
        item_texts: [I] the texts that the embedder reads of each item; likewise attribute_texts.
        user: [E] rows; likewise item.
        time: [E] in any unit.
    """

    name: str
    item_texts: Sequence[str]
    attribute_texts: Sequence[str]
    user: I64
    item: I64
    time: I64

    @property
    def users(self) -> int:
        """The number of users."""
        return int(self.user.max()) + 1 if len(self.user) else 0

    @property
    def items(self) -> int:
        """The number of items."""
        return len(self.item_texts)

    def check(self) -> None:
        """Check that there is something to rank.

        Raises:
            InvalidInput: There is not.
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

        So neither a row number nor the order of a file can tell anything.
        """
        rng = np.random.default_rng(seed)
        users, items = rng.permutation(self.users), rng.permutation(self.items)
        order = np.lexsort((rng.random(len(self.time)), self.time))
        back = np.argsort(items)
        return Stream(
            self.name,
            [self.item_texts[row] for row in back],
            [self.attribute_texts[row] for row in back],
            users[self.user[order]],
            items[self.item[order]],
            self.time[order],
        )


def stream_of(dataset: Dataset) -> Stream:
    """Return a dataset as a stream without ids.

    Texts are as the live embedder reads them.
    """
    clients = [
        change.apply_to(Client(ref=ref_of(change.key.kind, row), key=change.key))
        for row, change in enumerate(dataset.items)
    ]
    user, item, time = dataset.rows()
    return Stream(
        dataset.name,
        [content_text(client) for client in clients],
        [attribute_text(client) for client in clients],
        user,
        item,
        time,
    )
