"""A scripted model whose answers to the laboratory's prompts have known probabilities.

It knows the truth from the test that starts it, never from the prompt. So an experiment's figures
follow by hand, and the laboratory is checked against them.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from random import Random
from typing import Any

from services.fake_llm.rule import read_data
from services.fake_llm.script import Script
from services.fake_llm.server import FakeLLM

REASON = "This is what a planted model says whenever it is asked for the reason of its answer."


@dataclass(frozen=True)
class PlantedAnswers:
    """The probabilities of answers.

    An item is recommended, or ranked first: the most popular one, if `popularity` is given; else
    the right one with `knows`; else the first one with `first`; else one drawn from all.

    Attributes:
        right: By the texts of a user's history, joined by line breaks: the texts of the items that
            are right for this user.
        knows: How often the right item is recommended.
        misses_otherwise: Draw from the wrong items only, if the right one is not recommended.
        first: How often the first item is recommended.
        popularity: How popular items are, by their texts; empty: no matter.
        yes_to_right: How often a decision about a right item is yes; likewise `yes_to_wrong`.
        yes_with_memory: The two after at least one earlier round; None: the same.
        picks: How often the right item is picked of a list that holds it. A list of five holds it
            with `knows`.
        unusable: How often an answer names no candidate, or neither yes nor no.
    """

    right: Mapping[str, Collection[str]]
    knows: float = 0.0
    misses_otherwise: bool = False
    first: float = 0.0
    popularity: Mapping[str, int] = field(default_factory=dict)
    yes_to_right: float = 0.5
    yes_to_wrong: float = 0.5
    yes_with_memory: tuple[float, float] | None = None
    picks: float = 0.0
    unusable: float = 0.0
    seed: int = 7


class PlantedLLM(FakeLLM):
    """A server with planted answers; other prompts are answered by the rule.

    `planted` is set after the server starts. Equal prompts get equal answers.
    """

    planted: PlantedAnswers

    def __init__(self, script: Script) -> None:
        super().__init__(script)
        self.planted = PlantedAnswers({})

    def write_answer(
        self,
        messages: Sequence[Mapping[str, Any]],
        response_format: Mapping[str, Any] | None,
        *,
        obeying: bool,
    ) -> dict[str, Any]:
        """Write an answer by the planted probabilities."""
        data = read_data(messages)
        if "history" not in data:
            return super().write_answer(messages, response_format, obeying=obeying)
        # Not by the messages: an unusable answer is asked for once more, and is unusable again.
        asked = f"{self.planted.seed} {data}".encode()
        draw = Random(blake2b(asked, digest_size=16).digest())
        unusable = draw.random() < self.planted.unusable
        right = self.planted.right.get("\n".join(data["history"]), ())
        if "recommended" in data:
            decision = "perhaps" if unusable else self._decide(data, right, draw)
            return {"decision": {"reason": REASON, "decision": decision}}
        if "list_from" in data:
            return self._list(data["list_from"], right, draw, unusable=unusable)
        if "pick_from" in data:
            rights = [number for number, text in data["pick_from"].items() if text in right]
            wrong = [number for number in data["pick_from"] if number not in rights]
            knows = bool(rights) and draw.random() < self.planted.picks
            item = 0 if unusable else int(draw.choice(rights if knows else wrong))
            return {"recommendation": {"reason": REASON, "item": item}}
        ranked = "items_to_rank" in data
        items = data["items_to_rank" if ranked else "choose_from"]
        chosen = self._choose(items, right, draw)
        if not ranked:
            item = len(items) + 1 if unusable else int(chosen)
            return {"recommendation": {"reason": REASON, "item": item}}
        others = [int(number) for number in items if number != chosen]
        draw.shuffle(others)
        return {"ranking": {"order": [int(chosen), *others[unusable:]]}}

    def _list(
        self, items: Mapping[str, str], right: Collection[str], draw: Random, *, unusable: bool
    ) -> dict[str, Any]:
        rights = [number for number, text in items.items() if text in right]
        wrong = [number for number in items if number not in rights]
        listed = draw.sample(wrong, 5)
        if rights and draw.random() < self.planted.knows:
            listed[draw.randrange(5)] = rights[0]
        numbers = [int(number) for number in listed[unusable:]]
        return {"shortlist": {"reason": REASON, "items": numbers}}

    def _choose(self, items: Mapping[str, str], right: Collection[str], draw: Random) -> str:
        planted = self.planted
        if planted.popularity:
            return max(items, key=lambda number: planted.popularity[items[number]])
        rights = [number for number, text in items.items() if text in right]
        if rights and draw.random() < planted.knows:
            return rights[0]
        if draw.random() < planted.first:
            return next(iter(items))
        drawn = [number for number in items if number not in rights or not planted.misses_otherwise]
        return draw.choice(drawn)

    def _decide(self, data: Mapping[str, Any], right: Collection[str], draw: Random) -> str:
        planted = self.planted
        shares = (planted.yes_to_right, planted.yes_to_wrong)
        if "earlier_rounds" in data and planted.yes_with_memory is not None:
            shares = planted.yes_with_memory
        share = shares[0] if data["recommended"] in right else shares[1]
        return "yes" if draw.random() < share else "no"
