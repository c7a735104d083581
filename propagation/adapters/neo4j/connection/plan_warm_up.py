"""What people wait for, planned before they come. Neo4j plans a statement when it first meets it,
and once more for a list or a string ten times as long: 50 to 400 ms each on two cores, and a trace
or a profile is read by ten statements."""

from collections.abc import Callable, Iterator, Mapping

from propagation.adapters.neo4j.connection.database import Neo4jDatabase

ONE, FEW, MANY = (1,), (1, 2, 11), (1, 2, 11, 101)
"""Lengths, one of each plan's."""
NOBODY = -1
Parameters = Mapping[str, object]
Sized = Callable[[int], Parameters]


def _numbers(count: int) -> list[int]:
    return [NOBODY] * count


def _pairs(count: int) -> list[list[int]]:
    return [[NOBODY, NOBODY]] * count


READS: tuple[tuple[str, tuple[int, ...], Sized], ...] = (
    ("clients/refs", ONE, lambda count: {"users": [""] * count, "items": []}),
    ("clients/refs", ONE, lambda count: {"users": [], "items": [""] * count}),
    ("clients/get", MANY, lambda count: {"refs": _numbers(count)}),
    ("clients/ids", MANY, lambda count: {"refs": _numbers(count)}),
    ("texts/current", FEW, lambda count: {"refs": _numbers(count)}),
    ("texts/of_versions", MANY, lambda count: {"keys": _pairs(count)}),
    ("texts/at", ONE, lambda _: {"ref": NOBODY, "sequence": NOBODY}),
    ("texts/merges_of", ONE, lambda _: {"router": NOBODY, "version": NOBODY, "limit": 1}),
    ("interactions/by_event", FEW, lambda count: {"event_id": "-" * count}),
    ("interactions/get", MANY, lambda count: {"sequences": _numbers(count)}),
    ("attributes/get", MANY, lambda count: {"names": [""] * count}),
    ("messages/edges", ONE, lambda count: {"refs": _numbers(count), "through": NOBODY}),
    ("messages/current_at", FEW, lambda count: {"pairs": _pairs(count)}),
    ("messages/not_from", FEW, lambda count: {"spans": [[NOBODY] * 4] * count}),
    ("messages/brief", MANY, lambda count: {"keys": _pairs(count)}),
    ("messages/senders", FEW, lambda count: {"keys": _pairs(count), "senders": 1}),
    ("messages/parts", ONE, lambda _: {"router": NOBODY, "version": NOBODY}),
    (
        "messages/parts_with",
        FEW,
        lambda count: {"keys": _pairs(1), "attributes": [""] * count, "but": NOBODY},
    ),
    (
        "messages/parts_with",
        FEW,
        lambda count: {"keys": _pairs(2), "attributes": [""] * count, "but": NOBODY},
    ),
    ("messages/newest", (11,), lambda count: {"routers": _numbers(count), "at": None}),
    ("messages/contributions", ONE, lambda _: {"ref": NOBODY}),
    ("edges/count", (11,), lambda count: {"routers": _numbers(count), "at": None}),
    ("edges/members", ONE, lambda _: {"router": NOBODY, "limit": 1, "at": None}),
    ("erasure/taken_back_through", ONE, lambda _: {}),
    ("rounds/sequences", FEW, lambda count: {"numbers": _numbers(count)}),
    ("evolution/maps", ONE, lambda _: {}),
    ("evolution/lineage", ONE, lambda _: {}),
)
"""A statement, the lengths that it is planned for, and parameters that nobody has: what profiles,
traces, routers are read by."""


def planned() -> Iterator[tuple[str, Parameters]]:
    """Each statement as often as the server plans it."""
    for name, sizes, parameters in READS:
        for size in sizes:
            yield name, parameters(size)


async def make_plans(database: Neo4jDatabase) -> None:
    """One after another: others ask meanwhile. Raises StoreUnreachable."""
    for name, parameters in planned():
        await database.rows(name, **parameters)
