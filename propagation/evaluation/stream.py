"""What an evaluation is given: texts and events, nothing else. Ids stay outside: rows carry no
meaning."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from propagation.model.errors import InvalidInput
from propagation.model.plurals import pluralize

I64 = NDArray[np.int64]
LEAST_EVENTS = 50
LEAST_ITEMS = 3


@dataclass(frozen=True)
class Stream:
    """`name` · item_texts, attribute_texts [I]: what the embedder reads of each item
    (workflow/index/embedding.py) · user, item [E]: rows · time [E]: any unit. Order of rows means
    nothing."""

    name: str
    item_texts: Sequence[str]
    attribute_texts: Sequence[str]
    user: I64
    item: I64
    time: I64

    @property
    def users(self) -> int:
        return int(self.user.max()) + 1 if len(self.user) else 0

    @property
    def items(self) -> int:
        return len(self.item_texts)

    def check(self) -> None:
        """Raises InvalidInput where there is nothing to rank."""
        if len(self.user) < LEAST_EVENTS:
            raise InvalidInput(
                "events",
                f"{self.name} has {pluralize(len(self.user), 'event')}; an evaluation needs at "
                f"least {LEAST_EVENTS}. A catalogue alone can be imported and searched, there is nothing to rank",
            )
        if self.items < LEAST_ITEMS:
            raise InvalidInput(
                "items",
                f"{self.name} has {pluralize(self.items, 'item')}; "
                f"an evaluation needs at least {LEAST_ITEMS}",
            )

    def shuffled(self, seed: int) -> "Stream":
        """In time order, ties in time broken by seed, users and items renumbered by seed: neither a
        row number nor the order of a file can tell anything."""
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
