"""The data of the demo: its script, and answers of the service.

The script is the dataset, its cut into before and after, and the watched users. The service gives
profiles. Its routing table and the sources of lines show who reached whom.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from propagation.datasets.dataset import Dataset
from propagation.datasets.generated_town import Wave, generate_town
from propagation.datasets.load import load_dataset
from propagation.model import ClientChange, normalize_name, sum_pairs
from propagation.v1 import propagation_pb2 as pb
from propagation_client import pages, user_key
from services.client.stub import PAGE_SIZE, Stub, list_routers

MOST_EVENTS = 12_000
BEFORE_SHARE = 0.85
WATCHED = 40
UPDATE_SHARE, LEAST_UPDATE = 0.67, 60
BOOTSTRAP_ITEMS, LEAST_BOOTSTRAP = 500, 20
MOST_USERS, MOST_GROUPS = 240, 8
REST = "all others"


@dataclass(frozen=True)
class DemoScript:
    """The data of the demo, and what it watches.

    Args:
        before: Number of events before profiles are read the first time.
        after: Number of events before profiles are read the second time.
        watched: Users whose profiles are compared, likeliest to show something first. In the town
            they chose nothing of the wave; in other data, users without an event between the two
            readings come first.
        wave: The planted wave of the town; None for other data.
        groups: Each user's planted community; None for other data.
    """

    dataset: Dataset
    before: int
    after: int
    watched: Sequence[str]
    wave: Wave | None = None
    groups: Mapping[str, str] | None = None

    @property
    def settings(self) -> list[str]:
        """Settings for a small dataset.

        With them there are some two dozen rounds, and a bootstrap despite few items.
        """
        described = sum(
            bool(item.title or item.description or item.categories or item.attributes)
            for item in self.dataset.items
        )
        return [
            f"bootstrap_items={min(BOOTSTRAP_ITEMS, max(described, LEAST_BOOTSTRAP))}",
            f"update_size={max(LEAST_UPDATE, UPDATE_SHARE * len(self.dataset.clients)):.0f}",
        ]

    def list_items_with(self, concepts: frozenset[str]) -> frozenset[str]:
        """Return items that have one of these attributes or categories."""
        return frozenset(
            item.key.id for item in self.dataset.items if concepts & _list_concepts_of_item(item)
        )

    def list_concepts(self, user: str) -> frozenset[str]:
        """Return attributes and categories of the items that the user had.

        The items are those of all the user's events before `after`.
        """
        chosen = {
            event.item_id for event in self.dataset.between(0, self.after) if event.user_id == user
        }
        return frozenset().union(
            *(_list_concepts_of_item(item) for item in self.dataset.items if item.key.id in chosen)
        )


def _list_concepts_of_item(item: ClientChange) -> frozenset[str]:
    names = (*(item.attributes or ()), *(item.categories or ()))
    return frozenset(normalize_name(name) for name in names)


def shorten_script(script: DemoScript, events: int) -> DemoScript:
    """Shorten the script to the events around the cut.

    A slow reasoner needs this.

    Args:
        events: At most so many are kept.
    """
    if len(script.dataset) <= events:
        return script
    start = max(script.after - events, 0)
    dataset = replace(script.dataset, order=script.dataset.order[start : script.after])
    before = max(
        script.before - start, int(BEFORE_SHARE * len(dataset)) if script.before <= start else 0
    )
    return replace(script, dataset=dataset, before=before, after=len(dataset))


def build_town_script(seed: int) -> DemoScript:
    """Make the script for the generated town."""
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


def build_folder_script(folder: Path, seed: int) -> DemoScript:
    """Make the script for given data.

    Raises:
        BrokenData: The folder cannot be read.
    """
    dataset = load_dataset(folder, seed).first(MOST_EVENTS)
    cut = int(BEFORE_SHARE * len(dataset))
    earlier = Counter(event.user_id for event in dataset.between(0, cut))
    later = {event.user_id for event in dataset.between(cut, len(dataset))}
    watched = sorted(earlier, key=lambda user: (user in later, -earlier[user], user))
    return DemoScript(dataset, cut, len(dataset), watched[:WATCHED])


@dataclass(frozen=True)
class Reach:
    """The routing table, communities, and the flow of lines between them.

    Args:
        names: Names of the taste routers, by number.
        tables: {user: {router: score}}.
        groups: {user: community}.
        order: The communities in the order in which they are drawn.
        flows: Number of lines that messages wrote, by (sender's community, router, reader's
            community).
    """

    names: Mapping[int, str]
    tables: Mapping[str, Mapping[int, float]]
    groups: Mapping[str, str]
    order: Sequence[str]
    flows: Counter[tuple[str, int, str]]

    def count_carried_lines(self) -> Counter[int]:
        """Count the lines that each router carried."""
        return Counter(sum_pairs((router, lines) for (_, router, _), lines in self.flows.items()))


async def collect_reach(stub: Stub, script: DemoScript) -> Reach:
    """Fetch the taste routers, their members and active users' profiles.

    The profiles are those of the 240 most active users.
    """
    active = Counter(event.user_id for event in script.dataset.between(0, script.after))
    users = [user for user, _ in active.most_common(MOST_USERS)]
    names = {
        router.number: router.name or f"router {router.number}"
        for router in await list_routers(stub, pb.BANK_TASTE)
    }
    tables = await _load_tables(stub, names, frozenset(active))
    groups, order = (
        (script.groups, sorted(set(script.groups.values())))
        if script.groups
        else _group_by_router(tables, names)
    )
    profiles = await read_profiles(stub, users)
    return Reach(
        names,
        tables={user: tables[user] for user in users if tables.get(user)},
        groups=groups,
        order=order,
        flows=_find_flows(profiles, groups),
    )


async def _load_tables(
    stub: Stub, names: Mapping[int, str], users: frozenset[str]
) -> dict[str, dict[int, float]]:
    tables: dict[str, dict[int, float]] = defaultdict(dict)
    for number in names:
        request = pb.GetRouterRequest(number=number, bank=pb.BANK_TASTE, page_size=PAGE_SIZE)
        async for page in pages(stub.GetRouter, request):
            for member in page.members:
                if member.client.kind == pb.CLIENT_KIND_USER and member.client.id in users:
                    tables[member.client.id][number] = member.score
    return tables


def _group_by_router(
    tables: Mapping[str, Mapping[int, float]], names: Mapping[int, str]
) -> tuple[Mapping[str, str], list[str]]:
    """Group users by their most trusted router, if no community was planted."""
    first = {
        user: names[max(row, key=lambda router: (row[router], -router))]
        for user, row in tables.items()
        if row
    }
    largest = [name for name, _ in Counter(first.values()).most_common(MOST_GROUPS - 1)]
    groups = {user: name if name in largest else REST for user, name in first.items()}
    return groups, [*largest, REST] if REST in groups.values() else largest


def _find_flows(
    profiles: Mapping[str, pb.Profile], groups: Mapping[str, str]
) -> Counter[tuple[str, int, str]]:
    return Counter(
        (source, router, groups[user])
        for user, profile in profiles.items()
        if user in groups
        for line in profile.lines
        if line.author == pb.AUTHOR_RECEPTION
        for source, router in _list_sources(line, groups)
    )


def _list_sources(line: pb.Line, groups: Mapping[str, str]) -> set[tuple[str, int]]:
    """Return (community, router) for each user whose message led to a line.

    Items have no community, so they are left out.
    """
    return {
        (groups[sender.id], source.message.router)
        for source in line.sources
        if source.HasField("message")
        for sender in source.message.senders.clients.keys
        if sender.kind == pb.CLIENT_KIND_USER and sender.id in groups
    }


async def read_profiles(stub: Stub, users: Sequence[str]) -> dict[str, pb.Profile]:
    """Fetch profiles with their waiting messages merged."""
    requests = {
        user: pb.GetProfileRequest(key=user_key(user), freshness=pb.FRESHNESS_MERGED)
        for user in users
    }
    return {user: (await stub.GetProfile(request)).profile for user, request in requests.items()}
