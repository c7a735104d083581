"""A planted model that answers AgentCF's prompts, and data of which it knows the truth."""

import asyncio
import json
import random
from dataclasses import dataclass, field

import numpy as np

from propagation.adapters.offline.embedder import HashedEmbedder
from propagation.adapters.openai.answer_json import ParsedAnswer
from propagation.adapters.openai.answers.questions import Answered
from propagation.adapters.openai.prompting import check_part
from propagation.datasets.dataset import Events, assemble
from propagation.laboratory.agentcf import AgentCF, list_variants
from propagation.model import NO_USAGE, ClientChange, ClientKey, ClientKind, ReasonerFailed

WORDS = (
    *("amber", "birch", "cedar", "delta", "ember"),
    *("fjord", "grove", "haven", "inlet", "jetty"),
    *("knoll", "lagoon", "meadow", "nectar", "orchid"),
    *("pebble", "quartz", "ridge", "summit", "thicket"),
)


def build_titled_dataset(users=60, items=40, each=6, seed=5):
    """Users take items by chance, some items more often; each item has a title of its own."""
    draw = np.random.default_rng(seed)
    weights = 1 / np.arange(3, items + 3)
    events = Events("planted")
    for user in range(users):
        taken = draw.choice(items, each, replace=False, p=weights / weights.sum())
        for moment, item in enumerate(taken):
            events.append(f"u{user}", f"i{item}", 1_000 * (moment * users + user))
    catalogue = {
        f"i{n}": ClientChange(
            key=ClientKey(kind=ClientKind.ITEM, id=f"i{n}"),
            title=name_item(n),
            categories=(WORDS[n % len(WORDS)],),
        )
        for n in range(items)
    }
    return assemble("planted", catalogue, {}, events, seed)


def name_item(row):
    """The title that stands for a row of the catalogue."""
    return f"{WORDS[row % len(WORDS)].title()} and {WORDS[row // len(WORDS)].title()}"


@dataclass
class Planted:
    """Answers by what is planted, and by nothing else.

    Attributes:
        right: The probability of the right choice of two (the right one is shown second).
        knows: The probability that a ranking begins with the target; else it is by chance.
        first: The probability that a ranking begins with what is shown first.
        popular: Titles by popularity, most popular first: rankings follow them; None: they don't.
        unusable: The probability that an answer is unusable.
        takes: The probability that an item is taken; `takes_read` after a review.
        targets: By the titles of the candidates, as they are shown, the target's.
        label: Of the prompt that is being answered.
    """

    right: float = 0.5
    knows: float = 0.0
    first: float = 0.0
    popular: list | None = None
    unusable: float = 0.0
    takes: float = 0.5
    takes_read: float = 0.5
    targets: dict = field(default_factory=dict)
    label: str = ""

    def answer(self, data):
        """Answer a prompt's data, as JSON would be; the same data gets the same answer."""
        draw = random.Random(json.dumps(data, sort_keys=True))
        if draw.random() < self.unusable:
            return {}
        if "first_item" in data:
            choice = 2 if draw.random() < self.right else 1
            text = f"The features of number {choice} agree with what this person enjoys."
            return {"selection": {"choice": choice, "explanation": text}}
        if "candidate_items" in data:
            return {"recommendation": {"order": self._rank(data["candidate_items"], draw)}}
        if "reviewed_item" in data:
            name = data["reviewed_item"]["title"]
            return {"written": {"review": f"I have much to say about {name} as I know it."}}
        if "new_item" in data:
            name = data["popular_item"]["title"]
            return {"learned": {"memory": f"Suits whoever is fond of {name} and the like."}}
        if "offered_item" in data:
            return {"decided": {"takes": "yes" if self._takes(data, draw) else "no"}}
        title = data["liked_item"]["title"]
        mark = "".join(draw.choices("bcdfghjklm", k=8))
        if "explanation" in data or "user" in data:
            text = f"Enjoys what sounds like {title}, with a touch of {mark}."
        return {"user_reflection": {"memory": text}, "item_reflection": {"memory": text}}

    def _takes(self, data, draw):
        return draw.random() < (self.takes_read if "review" in data else self.takes)

    def _rank(self, candidates, draw):
        titles = [one["title"] for one in candidates.values()]
        order = draw.sample(range(len(titles)), len(titles))
        if draw.random() < self.knows:
            place = titles.index(self.targets[tuple(titles)])
            order = [place, *(one for one in order if one != place)]
        if draw.random() < self.first:
            order = [0, *(one for one in order if one != 0)]
        if self.popular is not None:
            order.sort(key=lambda place: self.popular.index(titles[place]))
        return [place + 1 for place in order]


class ScriptedAsk:
    """The port `Ask` in memory: parts are checked as the adapter checks them.

    Attributes:
        asked: The questions, in the order of their answers.
    """

    def __init__(self, planted, delay=None, in_flight=1_000):
        self.planted, self.asked, self._delay = planted, [], delay
        self._slots = asyncio.Semaphore(in_flight)
        self.running = self.most_at_once = 0

    async def __call__(self, question):
        async with self._slots:
            self.running += 1
            self.most_at_once = max(self.most_at_once, self.running)
            await asyncio.sleep(self._delay.random() / 500 if self._delay else 0)
            self.running -= 1
        self.asked.append(question)
        self.planted.label = question.prompt.label
        answer = ParsedAnswer(self.planted.answer(json.loads(json.dumps(question.data))))
        parts = {name: check_part(answer, name, part) for name, part in question.parts.items()}
        if all(isinstance(part, ReasonerFailed) for part in parts.values()):
            raise ReasonerFailed("; ".join(map(str, parts.values())))
        return Answered(parts, NO_USAGE)

    def count(self, start=""):
        """How many questions have a label that starts so."""
        return sum(one.prompt.label.startswith(f"agentcf-{start}") for one in self.asked)


def build_agentcf(dataset, ask, name="agentcf", **changes):
    variant = list_variants()[name]
    if changes:
        variant = type(variant)(**{**vars(variant), **changes})
    return AgentCF(name, variant, dataset, ask, "planted", HashedEmbedder(3, 16))
