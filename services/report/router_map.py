"""The routers as a map: near where they share attributes and members."""

from collections.abc import Sequence
from itertools import combinations
from math import sqrt
from xml.etree.ElementTree import Element

import numpy as np
from numpy.typing import NDArray

from propagation.v1 import propagation_pb2 as pb
from services.report.collect import Material, clients_reached
from services.report.force_layout import force_layout, spread_labels
from services.report.html import drawing, element, titled

WIDTH, HEIGHT, MARGIN = 1130.0, 640.0, 70.0
SMALLEST, LARGEST = 4.0, 24.0
NAMED, NAME_CHARS, LETTER = 18, 34, 6.6
LABEL_HEIGHT = 17.0
LINKS = 1
STANDS_FOR = 4
SEED = 7
FAINTEST = 0.12


def router_map(material: Material) -> Element:
    """Size: members. Strength of colour: clients that its messages reached."""
    routers = material.routers
    pulls = _pulls(material)
    places = _placed(pulls)
    reached = [clients_reached(material.reach, router.number) for router in routers]
    most_members, most_reached = (
        max(max(router.members for router in routers), 1),
        max([*reached, 1]),
    )
    radii = [
        SMALLEST + (LARGEST - SMALLEST) * sqrt(router.members / most_members) for router in routers
    ]
    dots = [
        titled(
            element(
                "circle",
                cx=f"{x:.1f}",
                cy=f"{y:.1f}",
                r=f"{radius:.1f}",
                class_="router",
                fill_opacity=f"{FAINTEST + (1 - FAINTEST) * clients / most_reached:.2f}",
            ),
            _told(router, clients, material.members[router.number]),
        )
        for (x, y), radius, clients, router in zip(
            places.tolist(), radii, reached, routers, strict=True
        )
    ]
    return drawing(
        WIDTH,
        HEIGHT,
        "Routers: near where they share attributes and members",
        _links(pulls, places),
        dots,
        _names(routers, places, radii),
    )


def name_of(router: pb.Router) -> str:
    return router.name or f"router {router.number}"


def _pulls(material: Material) -> NDArray[np.float64]:
    """[R,R]: what two routers share, of attributes and of members, as a share of the smaller."""
    routers = material.routers
    told = [frozenset(name.casefold() for name in router.attributes) for router in routers]
    belong = [
        frozenset(
            (member.client.kind, member.client.id)
            for member in material.members[router.number]
            if member.HasField("client")
        )
        for router in routers
    ]
    pulls = np.zeros((len(routers),) * 2)
    for one, other in combinations(range(len(routers)), 2):
        pulls[one, other] = pulls[other, one] = _shared(told[one], told[other]) + _shared(
            belong[one], belong[other]
        )
    return pulls


def _shared(one: frozenset[object], other: frozenset[object]) -> float:
    smaller = min(len(one), len(other))
    return len(one & other) / smaller if smaller else 0.0


def _placed(pulls: NDArray[np.float64]) -> NDArray[np.float64]:
    places = force_layout(pulls, SEED)
    spread = np.maximum(places.max(axis=0) - places.min(axis=0), 1e-6)
    unit = (places - places.min(axis=0)) / spread
    if len(pulls) == 1:
        unit[:] = 0.5
    return np.asarray(MARGIN + unit * (np.array([WIDTH, HEIGHT]) - 2 * MARGIN), np.float64)


def _links(pulls: NDArray[np.float64], places: NDArray[np.float64]) -> list[Element]:
    """Each router to the one that it shares most with."""
    pairs = {
        (min(one, other), max(one, other))
        for one, row in enumerate(pulls)
        for other in np.argsort(-row, kind="stable")[:LINKS].tolist()
        if row[other] > 0
    }
    strongest = max(float(pulls.max(initial=0.0)), 1e-9)
    return [
        element(
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


def _names(
    routers: Sequence[pb.Router], places: NDArray[np.float64], radii: Sequence[float]
) -> list[Element]:
    """Of the routers that reached most, below their dots, moved apart."""
    named = [place for place, router in enumerate(routers) if router.name][:NAMED]
    if not named:
        return []
    words = [_short(routers[place].name) for place in named]
    sizes = np.array([(LETTER * len(text) + 8, LABEL_HEIGHT) for text in words])
    wanted = np.array([places[place] + (0.0, radii[place] + 11.0) for place in named])
    return [
        element("text", text, x=f"{x:.1f}", y=f"{y + 4:.1f}", text_anchor="middle", class_="name")
        for text, (x, y) in zip(
            words, _inside(spread_labels(wanted, sizes), sizes).tolist(), strict=True
        )
    ]


def _inside(places: NDArray[np.float64], sizes: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.clip(places, sizes / 2, np.array([WIDTH, HEIGHT]) - sizes / 2)


def _told(router: pb.Router, clients: int, members: Sequence[pb.RouterMember]) -> str:
    titles = [
        member.title or member.client.id
        for member in members
        if member.HasField("client") and member.client.kind == pb.CLIENT_KIND_ITEM
    ][:STANDS_FOR]
    stands = f"\nwith {', '.join(titles)}" if titles else ""
    return (
        f"{name_of(router)}\n{router.members:,} members, {router.version:,} messages, {clients:,} clients reached, "
        f"mass {router.mass:,.0f}{stands}"
    )


def _short(name: str) -> str:
    return name if len(name) <= NAME_CHARS else name[: NAME_CHARS - 1].rstrip(" ,") + "…"
