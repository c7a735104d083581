"""Who reached whom, from the routing table and the sources of lines."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from propagation.v1 import propagation_pb2 as pb
from services.client.stub import Stub, list_routers
from services.demo.script import DemoScript
from services.demo.story import profiles_of

MOST_USERS, MOST_GROUPS = 240, 8
PAGE = 1_000
REST = "all others"


@dataclass(frozen=True)
class Reach:
    """The routing table, communities, and the flow of lines between them.

    Args:
        names: Routers by number.
        tables: {user: {router: score}}.
        groups: {user: community}, in the order of `order`.
        flows: Lines that messages wrote, by (community, router, community).
    """

    names: Mapping[int, str]
    tables: Mapping[str, Mapping[int, float]]
    groups: Mapping[str, str]
    order: Sequence[str]
    flows: Counter[tuple[str, int, str]]

    def between_groups(self) -> Counter[tuple[str, str]]:
        """Lines by (from, to)."""
        total: Counter[tuple[str, str]] = Counter()
        for (source, _, target), lines in self.flows.items():
            total[source, target] += lines
        return total


async def collect_reach(stub: Stub, script: DemoScript) -> Reach:
    """Fetch the taste routers, their members, and profiles of the 240 most active users."""
    active = Counter(event.user_id for event in script.dataset.between(0, script.after))
    users = [user for user, _ in active.most_common(MOST_USERS)]
    routers = await list_routers(stub, pb.BANK_TASTE)
    names = {router.number: router.name or f"router {router.number}" for router in routers}
    tables = await _tables(stub, names, frozenset(active))
    if script.groups:
        groups, order = script.groups, sorted(set(script.groups.values()))
    else:
        groups, order = _by_router(tables, names)
    flows = _flows(await profiles_of(stub, users), groups)
    shown = {user: tables[user] for user in users if tables.get(user)}
    return Reach(names, shown, groups, order, flows)


async def _tables(
    stub: Stub, names: Mapping[int, str], users: frozenset[str]
) -> dict[str, dict[int, float]]:
    tables: dict[str, dict[int, float]] = {}
    for number in names:
        token = ""
        while True:
            request = pb.GetRouterRequest(
                number=number, bank=pb.BANK_TASTE, page_size=PAGE, page_token=token
            )
            answer = await stub.GetRouter(request)
            for member in answer.members:
                if member.client.kind == pb.CLIENT_KIND_USER and member.client.id in users:
                    tables.setdefault(member.client.id, {})[number] = member.score
            token = answer.next_page_token
            if not token:
                break
    return tables


def _by_router(
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


def _flows(
    profiles: Mapping[str, pb.Profile], groups: Mapping[str, str]
) -> Counter[tuple[str, int, str]]:
    flows: Counter[tuple[str, int, str]] = Counter()
    for user, profile in profiles.items():
        for line in profile.lines:
            if line.author == pb.AUTHOR_RECEPTION and user in groups:
                flows.update(
                    (source, router, groups[user]) for source, router in _sources(line, groups)
                )
    return flows


def _sources(line: pb.Line, groups: Mapping[str, str]) -> set[tuple[str, int]]:
    """Return the communities whose users a line came from; items have no community."""
    return {
        (groups[sender.id], source.message.router)
        for source in line.sources
        if source.HasField("message")
        for sender in source.message.senders.clients.keys
        if sender.kind == pb.CLIENT_KIND_USER and sender.id in groups
    }
