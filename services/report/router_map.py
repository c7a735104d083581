"""The map of routers.

Routers are near each other if they share attributes and members.
"""

from collections.abc import Sequence
from itertools import combinations
from xml.etree.ElementTree import Element

import numpy as np
from numpy.typing import NDArray

from propagation.v1 import propagation_pb2 as pb
from services.report.collect import ReportData
from services.report.force_layout import compute_force_layout, shorten, spread_labels
from services.report.html import draw_svg, make_element

WIDTH, HEIGHT, MARGIN = 1130.0, 640.0, 70.0
FIELD = np.array([WIDTH, HEIGHT])
MIN_RADIUS, MAX_RADIUS = 4.0, 24.0
MAX_NAMES, MAX_NAME_CHARS, LETTER_WIDTH = 18, 34, 6.6
LABEL_HEIGHT = 17.0
EXAMPLE_ITEMS = 4
MIN_OPACITY = 0.12


def draw_router_map(data: ReportData) -> Element:
    """Draw the routers.

    The size of a dot shows the number of members, its strength of colour the clients reached.
    """
    routers = data.routers
    pulls = _compute_pulls(data)
    places = _place_routers(pulls)
    reached = [data.count_clients_reached(router.number) for router in routers]
    most_members = max(max(router.members for router in routers), 1)
    most_reached = max([*reached, 1])
    radii = [
        MIN_RADIUS + (MAX_RADIUS - MIN_RADIUS) * np.sqrt(router.members / most_members)
        for router in routers
    ]
    opacities = [MIN_OPACITY + (1 - MIN_OPACITY) * clients / most_reached for clients in reached]
    dots = [
        make_element(
            "circle",
            make_element("title", _write_tooltip(router, clients, data.members[router.number])),
            cx=f"{x:.1f}",
            cy=f"{y:.1f}",
            r=f"{radius:.1f}",
            class_="router",
            fill_opacity=f"{opacity:.2f}",
        )
        for router, clients, radius, opacity, (x, y) in zip(
            routers, reached, radii, opacities, places.tolist(), strict=True
        )
    ]
    return draw_svg(
        WIDTH,
        HEIGHT,
        "Routers: near where they share attributes and members",
        _draw_links(pulls, places),
        dots,
        _draw_names(routers, places, radii),
    )


def get_name(router: pb.Router) -> str:
    """Return a router's name, or its number if it has none."""
    return router.name or f"router {router.number}"


def _compute_pulls(data: ReportData) -> NDArray[np.float64]:
    """Measure how much every two routers share.

    Returns:
        [R, R], for two routers the sum of two shares: that of common attributes and that of common
        members, each divided by the smaller of the two routers' numbers.
    """
    attributes = [
        frozenset(name.casefold() for name in router.attributes) for router in data.routers
    ]
    members = [
        frozenset(
            (member.client.kind, member.client.id)
            for member in data.members[router.number]
            if member.HasField("client")
        )
        for router in data.routers
    ]
    pulls = np.zeros((len(attributes),) * 2)
    for one, other in combinations(range(len(attributes)), 2):
        pull = _measure_overlap(attributes[one], attributes[other]) + _measure_overlap(
            members[one], members[other]
        )
        pulls[one, other] = pulls[other, one] = pull
    return pulls


def _measure_overlap(one: frozenset[object], other: frozenset[object]) -> float:
    smaller = min(len(one), len(other))
    return len(one & other) / smaller if smaller else 0.0


def _place_routers(pulls: NDArray[np.float64]) -> NDArray[np.float64]:
    """Lay routers out to fill the map in both directions."""
    places = compute_force_layout(pulls, seed=7)
    spread = np.maximum(places.max(axis=0) - places.min(axis=0), 1e-6)
    unit = (places - places.min(axis=0)) / spread
    if len(pulls) == 1:
        unit[:] = 0.5
    return np.asarray(MARGIN + unit * (FIELD - 2 * MARGIN), np.float64)


def _draw_links(pulls: NDArray[np.float64], places: NDArray[np.float64]) -> list[Element]:
    """Link each router to the one that it shares most with."""
    pairs = {
        (min(one, other), max(one, other))
        for one, other in enumerate(pulls.argmax(axis=1).tolist())
        if pulls[one, other] > 0
    }
    strongest = max(float(pulls.max(initial=0.0)), 1e-9)
    return [
        make_element(
            "line",
            x1=f"{places[one, 0]:.1f}",
            y1=f"{places[one, 1]:.1f}",
            x2=f"{places[other, 0]:.1f}",
            y2=f"{places[other, 1]:.1f}",
            class_="link",
            stroke_width=f"{0.5 + 2.5 * pulls[one, other] / strongest:.2f}",
        )
        for one, other in sorted(pairs)
    ]


def _draw_names(
    routers: Sequence[pb.Router], places: NDArray[np.float64], radii: Sequence[float]
) -> list[Element]:
    """Write the names of the routers that reached most clients.

    The names stand below the dots, moved apart.
    """
    named = [place for place, router in enumerate(routers) if router.name][:MAX_NAMES]
    if not named:
        return []
    names = [shorten(routers[place].name, MAX_NAME_CHARS) for place in named]
    sizes = np.array([(LETTER_WIDTH * len(name) + 8, LABEL_HEIGHT) for name in names])
    below = np.array([places[place] + (0.0, radii[place] + 11.0) for place in named])
    centres = np.clip(spread_labels(below, sizes), sizes / 2, FIELD - sizes / 2)
    return [
        make_element(
            "text", name, x=f"{x:.1f}", y=f"{y + 4:.1f}", text_anchor="middle", class_="name"
        )
        for name, (x, y) in zip(names, centres.tolist(), strict=True)
    ]


def _write_tooltip(router: pb.Router, clients: int, members: Sequence[pb.RouterMember]) -> str:
    titles = [
        member.title or member.client.id
        for member in members
        if member.HasField("client") and member.client.kind == pb.CLIENT_KIND_ITEM
    ]
    examples = f"\nwith {', '.join(titles[:EXAMPLE_ITEMS])}" if titles else ""
    return (
        f"{get_name(router)}\n{router.members:,} members, {router.version:,} messages,"
        f" {clients:,} clients reached, mass {router.mass:,.0f}{examples}"
    )
