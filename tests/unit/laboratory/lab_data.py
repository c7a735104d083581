"""A small dataset of two communities, and methods that know it."""

import numpy as np

from propagation.datasets.dataset import Events, assemble, create_without_text
from propagation.model import ClientKind

USERS, ITEMS, EACH = 24, 30, 6


def build_dataset(seed=5, build_item=create_without_text):
    """Users of two groups take items of their own half; the last item, too."""
    draw = np.random.default_rng(seed)
    events = Events("lab")
    for user in range(USERS):
        half = user % 2 * (ITEMS // 2)
        for moment, item in enumerate(draw.permutation(ITEMS // 2)[:EACH]):
            events.append(f"u{user}", f"i{half + item}", 1_000 * (moment * USERS + user))
    items = {f"i{n}": build_item(ClientKind.ITEM, f"i{n}") for n in range(ITEMS)}
    return assemble("two halves", items, {}, events, seed)


def build_titled(seed=5):
    """The same with titles, whose lengths differ, and with attributes of each half."""

    def build_item(kind, name):
        number = int(name[1:])
        attributes = ("jazz", "vinyl") if number < ITEMS // 2 else ("folk", "cassette")
        texts = {"title": f"Rec{'o' * number}rd {number}", "attributes": attributes}
        return create_without_text(kind, name).model_copy(update=texts)

    return build_dataset(seed, build_item)


class Knowing:
    """Ranks the target above everything with probability q: the truth is planted."""

    def __init__(self, targets, q, name="knowing"):
        self.name, self.depends_on, self._q = name, {}, q
        self._target = dict(zip(targets.user.tolist(), targets.item.tolist(), strict=True))

    async def score(self, history, questions, seed):
        draw = np.random.default_rng(seed)
        scores = draw.random(questions.candidates.shape)
        for row, user in enumerate(questions.user.tolist()):
            if draw.random() < self._q:
                scores[row, questions.candidates[row] == self._target[user]] = 2.0
        return scores
