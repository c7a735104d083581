"""The script of the demo: the data, its cut into before and after, and the watched users."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from propagation.datasets.dataset import Dataset
from propagation.datasets.generated_town import Wave, generate_town
from propagation.datasets.load import load_dataset
from propagation.model import ClientChange, normalize_name

MOST_EVENTS = 12_000
BEFORE_SHARE = 0.85
WATCHED = 40
UPDATE_SHARE, LEAST_UPDATE = 0.67, 60
BOOTSTRAP_ITEMS, LEAST_BOOTSTRAP = 500, 20


@dataclass(frozen=True)
class DemoScript:
    """The data of the demo, and what it watches.

    Args:
        before: Number of events before the first look at profiles; `after` before the second.
        watched: Users who take no part in between, likeliest first.
        groups: Each user's planted community, if any.
    """

    dataset: Dataset
    before: int
    after: int
    watched: Sequence[str]
    wave: Wave | None = None
    groups: Mapping[str, str] | None = None

    @property
    def settings(self) -> list[str]:
        """Settings for a small dataset: two dozen rounds, and bootstrap despite few items."""
        described = sum(
            bool(item.title or item.description or item.categories or item.attributes)
            for item in self.dataset.items
        )
        clients = len(self.dataset.items) + len(self.dataset.users)
        return [
            f"bootstrap_items={min(BOOTSTRAP_ITEMS, max(described, LEAST_BOOTSTRAP))}",
            f"update_size={max(LEAST_UPDATE, UPDATE_SHARE * clients):.0f}",
        ]

    def items_with(self, concepts: frozenset[str]) -> frozenset[str]:
        """Return items that have one of these attributes or categories."""
        return frozenset(
            item.key.id for item in self.dataset.items if concepts & _concepts_of_item(item)
        )

    def concepts_of(self, user: str) -> frozenset[str]:
        """Return attributes and categories of all items that the user had by `after`."""
        chosen = {
            event.item_id for event in self.dataset.between(0, self.after) if event.user_id == user
        }
        return frozenset().union(
            *(_concepts_of_item(item) for item in self.dataset.items if item.key.id in chosen)
        )


def _concepts_of_item(item: ClientChange) -> frozenset[str]:
    names = (*(item.attributes or ()), *(item.categories or ()))
    return frozenset(normalize_name(name) for name in names)


def make_script(folder: Path | None, seed: int) -> DemoScript:
    """Return the script for the generated town, or for the data of a folder.

    Raises:
        BrokenData: The folder cannot be read.
    """
    return _town(seed) if folder is None else _folder(folder, seed)


def shorten_script(script: DemoScript, events: int) -> DemoScript:
    """Return the script with only the events around the cut, for a slow reasoner."""
    if len(script.dataset) <= events:
        return script
    start = max(script.after - events, 0)
    dataset = replace(script.dataset, order=script.dataset.order[start : script.after])
    before = max(
        script.before - start, int(BEFORE_SHARE * len(dataset)) if script.before <= start else 0
    )
    return replace(script, dataset=dataset, before=before, after=len(dataset))


def _town(seed: int) -> DemoScript:
    town = generate_town(seed)
    wave = town.waves[-1]
    after = (wave.spread + wave.end) // 2
    earlier = Counter(event.user_id for event in town.dataset.between(0, wave.start))
    took = {
        event.user_id for event in town.dataset.between(0, after) if event.item_id in wave.items
    }
    home = [
        user
        for user, place in town.communities.items()
        if place == wave.community and user not in took
    ]
    watched = sorted(home, key=lambda user: (-earlier[user], user))
    return DemoScript(town.dataset, wave.start, after, watched[:WATCHED], wave, town.communities)


def _folder(folder: Path, seed: int) -> DemoScript:
    dataset = load_dataset(folder, seed).first(MOST_EVENTS)
    cut = int(BEFORE_SHARE * len(dataset))
    earlier = Counter(event.user_id for event in dataset.between(0, cut))
    later = {event.user_id for event in dataset.between(cut, len(dataset))}
    watched = sorted(earlier, key=lambda user: (user in later, -earlier[user], user))
    return DemoScript(dataset, cut, len(dataset), watched[:WATCHED])
