"""The map of routers.

Routers are near each other if they share attributes and members. The report and the web page draw
the map, each with its own dots.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from xml.etree.ElementTree import Element

import numpy as np
from numpy.typing import NDArray

from propagation.plurals import pluralize
from propagation.v1 import propagation_pb2 as pb
from services.report.force_layout import compute_force_layout, spread_labels
from services.report.html import draw_svg, make_element, shorten

WIDTH, HEIGHT, MARGIN = 1130.0, 640.0, 70.0
FIELD = np.array([WIDTH, HEIGHT])
MIN_RADIUS, MAX_RADIUS = 4.0, 24.0
MAX_NAMES, MAX_NAME_CHARS, LETTER_WIDTH = 18, 34, 6.6
LABEL_HEIGHT = 17.0
EXAMPLE_ITEMS = 4
MIN_OPACITY = 0.12

Members = Mapping[int, Sequence[pb.RouterMember]]
"""The first members of routers, by router."""


@dataclass(frozen=True)
class RouterLayout:
    """Where routers are drawn.

    Attributes:
        places: The middle of each router's dot, [R, 2].
        links: Pairs of routers that share much, by their positions in `places`, each with what it
            shares relative to the pair that shares most, 0 to 1.
    """

    places: NDArray[np.float64]
    links: Sequence[tuple[int, int, float]]


class RouterDot(NamedTuple):
    """A router's dot.

    Attributes:
        radius: Shows the number of members.
        opacity: Shows the number of clients reached.
    """

    router: pb.Router
    x: float
    y: float
    radius: float
    opacity: float


def lay_out_routers(routers: Sequence[pb.Router], members: Members) -> RouterLayout:
    """Place routers near those with which they share attributes and members."""
    pulls = _compute_pulls(routers, members)
    return RouterLayout(_place_routers(pulls), list(_find_links(pulls)))


def measure_dots(
    routers: Sequence[pb.Router], reached: Mapping[int, int], layout: RouterLayout
) -> list[RouterDot]:
    """Measure the dot of each router.

    Args:
        reached: The number of clients that each router's messages reached, by router.
    """
    most_members = max([*(router.members for router in routers), 1])
    most_reached = max([*reached.values(), 1])
    spread = MAX_RADIUS - MIN_RADIUS
    return [
        RouterDot(
            router,
            x,
            y,
            MIN_RADIUS + spread * (router.members / most_members) ** 0.5,
            MIN_OPACITY + (1 - MIN_OPACITY) * reached.get(router.number, 0) / most_reached,
        )
        for router, (x, y) in zip(routers, layout.places.tolist(), strict=True)
    ]


def draw_dot(dot: RouterDot, tooltip: str) -> Element:
    """Draw a router's dot."""
    return make_element(
        "circle",
        make_element("title", tooltip),
        cx=f"{dot.x:.1f}",
        cy=f"{dot.y:.1f}",
        r=f"{dot.radius:.1f}",
        class_="router",
        fill_opacity=f"{dot.opacity:.2f}",
    )


def draw_router_map(
    layout: RouterLayout,
    dots: Sequence[RouterDot],
    drawn: Iterable[Element],
    label: str = "Routers: near where they share attributes and members",
) -> Element:
    """Draw the map.

    Args:
        dots: The dots that are named, the most important first.
        drawn: All dots as elements.
        label: What a screen reader reads.
    """
    return draw_svg(WIDTH, HEIGHT, label, _draw_links(layout), drawn, _draw_names(dots))


def get_name(router: pb.Router) -> str:
    """Return a router's name, or its number if it has none."""
    return router.name or f"router {router.number}"


def describe_router(router: pb.Router, reached: int, members: Sequence[pb.RouterMember]) -> str:
    """Describe a router in two or three lines.

    Args:
        reached: The number of clients that its messages reached.
        members: Its first members, for examples.
    """
    titles = [
        member.title or member.client.id
        for member in members
        if member.HasField("client") and member.client.kind == pb.CLIENT_KIND_ITEM
    ]
    examples = f"\nwith {', '.join(titles[:EXAMPLE_ITEMS])}" if titles else ""
    mass = f", mass {router.mass:,.0f}" if router.mass else ""  # the past keeps none
    return (
        f"{get_name(router)}\n{router.members:,} members{describe_trust(router)},"
        f" {router.version:,} messages, {reached:,} clients reached{mass}{examples}"
    )


def describe_trust(router: pb.Router) -> str:
    """Say how many users trust a taste router most.

    Empty for a router of the past, and for a session router, whose members these users are.
    """
    if not router.HasField("trusted_by") or router.bank != pb.BANK_TASTE:
        return ""
    return f", trusted most by {pluralize(router.trusted_by, 'user')}"


def _compute_pulls(routers: Sequence[pb.Router], members: Members) -> NDArray[np.float64]:
    """Measure how much every two routers share.

    Returns:
        [R, R], for two routers the sum of two shares: that of common attributes and that of common
        members.
    """
    attributes = [frozenset(name.casefold() for name in router.attributes) for router in routers]
    clients = [
        frozenset(
            (member.client.kind, member.client.id)
            for member in members.get(router.number, ())
            if member.HasField("client")
        )
        for router in routers
    ]
    return _measure_overlap(attributes) + _measure_overlap(clients)


def _measure_overlap(sets: Sequence[frozenset[Hashable]]) -> NDArray[np.float64]:
    """Measure what every two sets have in common, 0 to 1.

    It is the weight of the elements that are in both, divided by the weight of those in either. An
    element weighs less the more sets have it, because it tells less.
    """
    counts = Counter(element for one in sets for element in one)
    columns = {element: column for column, element in enumerate(counts)}
    holds = np.zeros((len(sets), len(columns)))
    for row, one in enumerate(sets):
        holds[row, [columns[element] for element in one]] = 1.0
    weights = np.log1p(len(sets) / np.array(list(counts.values()), np.float64))
    both = (holds * weights) @ holds.T
    total = np.diag(both)
    shares = both / np.maximum(total[:, None] + total - both, 1e-9)
    np.fill_diagonal(shares, 0.0)
    return shares


def _place_routers(pulls: NDArray[np.float64]) -> NDArray[np.float64]:
    """Lay routers out to fill the map in both directions."""
    if len(pulls) < 2:
        return np.full((len(pulls), 2), FIELD / 2)
    places = compute_force_layout(pulls, seed=7)
    spread = np.maximum(places.max(axis=0) - places.min(axis=0), 1e-6)
    unit = (places - places.min(axis=0)) / spread
    # Half of the way goes by rank, so that a few far routers do not crowd all others together.
    ranks = places.argsort(axis=0).argsort(axis=0) / (len(places) - 1)
    return np.asarray(MARGIN + (unit + ranks) / 2 * (FIELD - 2 * MARGIN), np.float64)


def _find_links(pulls: NDArray[np.float64]) -> Iterable[tuple[int, int, float]]:
    """Link each router to the one that it shares most with."""
    if not len(pulls):
        return
    strongest = max(float(pulls.max()), 1e-9)
    pairs = {
        (min(one, other), max(one, other))
        for one, other in enumerate(pulls.argmax(axis=1).tolist())
        if pulls[one, other] > 0
    }
    for one, other in sorted(pairs):
        yield one, other, float(pulls[one, other]) / strongest


def _draw_links(layout: RouterLayout) -> list[Element]:
    places = layout.places
    return [
        make_element(
            "line",
            x1=f"{places[one, 0]:.1f}",
            y1=f"{places[one, 1]:.1f}",
            x2=f"{places[other, 0]:.1f}",
            y2=f"{places[other, 1]:.1f}",
            class_="link",
            stroke_width=f"{0.5 + 2.5 * strength:.2f}",
        )
        for one, other, strength in layout.links
    ]


def _draw_names(dots: Sequence[RouterDot]) -> list[Element]:
    """Write the names of the first routers.

    The names stand below the dots, moved apart.
    """
    named = [dot for dot in dots if dot.router.name][:MAX_NAMES]
    if not named:
        return []
    names = [shorten(dot.router.name, MAX_NAME_CHARS) for dot in named]
    sizes = np.array([(LETTER_WIDTH * len(name) + 8, LABEL_HEIGHT) for name in names])
    below = np.array([(dot.x, dot.y + dot.radius + 11.0) for dot in named])
    centres = np.clip(spread_labels(below, sizes), sizes / 2, FIELD - sizes / 2)
    return [
        make_element(
            "text", name, x=f"{x:.1f}", y=f"{y + 4:.1f}", text_anchor="middle", class_="name"
        )
        for name, (x, y) in zip(names, centres.tolist(), strict=True)
    ]
