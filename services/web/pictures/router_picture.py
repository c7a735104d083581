"""The picture of all routers, each a link to its page.

Where routers lie is computed once an epoch, so that a reader finds them again.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from xml.etree.ElementTree import Element

from propagation.plurals import pluralize
from propagation.v1 import propagation_pb2 as pb
from services.report.html import make_element
from services.report.router_map import (
    RouterDot,
    RouterLayout,
    describe_router,
    describe_trust,
    draw_dot,
    draw_router_map,
    get_name,
    lay_out_routers,
    measure_dots,
)
from services.web.access.feed import Flow
from services.web.rendering import link_router

MAX_LAYOUTS = 16
HALO = 5.0
NO_FLOW = Flow()


class RouterLayouts:
    """Layouts that were computed, the last used ones."""

    def __init__(self) -> None:
        self._kept: OrderedDict[object, RouterLayout] = OrderedDict()

    async def find(self, routers: Sequence[pb.Router]) -> RouterLayout:
        """Return the layout of routers, a kept one if possible.

        It is computed in a thread. Within an epoch it is computed anew only when twice as many
        routers have attributes: at first none has any that it could share.
        """
        described = sum(bool(router.attributes) for router in routers)
        key = (
            routers[0].bank if routers else 0,
            max((router.epoch for router in routers), default=0),
            tuple(router.number for router in routers),
            described.bit_length(),
        )
        if key not in self._kept:
            self._kept[key] = await asyncio.to_thread(lay_out_routers, routers, {})
            while len(self._kept) > MAX_LAYOUTS:
                self._kept.popitem(last=False)
        self._kept.move_to_end(key)
        return self._kept[key]


def draw_routers(
    routers: Sequence[pb.Router],
    layout: RouterLayout,
    reached: Mapping[int, int],
    flows: Mapping[int, Flow],
    chosen: Collection[int],
    at: str,
) -> Element:
    """Draw the routers.

    Args:
        layout: Where the routers lie, in their order.
        reached: The number of clients that each router's messages reached. Without any, all dots
            have the same strength of colour.
        flows: What each router's messages did in the last minutes.
        chosen: The numbers of the routers that the filters let through; others are faint.
        at: The point in the past that is shown, as in an address; empty for now.
    """
    known = reached or dict.fromkeys((router.number for router in routers), 1)
    dots = measure_dots(routers, known, layout)
    by_importance = sorted(
        (dot for dot in dots if dot.router.number in chosen),
        key=lambda dot: (-reached.get(dot.router.number, 0), -dot.router.members),
    )
    drawn = [
        _draw_link(
            dot,
            describe_router(dot.router, reached.get(dot.router.number, 0), ())
            if reached
            else _describe_members(dot.router),
            flows.get(dot.router.number, NO_FLOW),
            at,
        )
        if dot.router.number in chosen
        else make_element("g", draw_dot(dot, get_name(dot.router)), class_="faint")
        for dot in dots
    ]
    picture = draw_router_map(
        layout,
        by_importance,
        drawn,
        f"Picture of {len(routers)} routers; the list below says the same in words",
    )
    picture.set("role", "group")  # an "img" must not contain links
    return picture


def _describe_members(router: pb.Router) -> str:
    return f"{get_name(router)}\n{pluralize(router.members, 'member')}{describe_trust(router)}"


def _draw_link(dot: RouterDot, tooltip: str, flow: Flow, at: str) -> Element:
    """Draw a router's dot as a link.

    The halo shows that messages flowed in the last minutes; the page's script keeps it up to date.
    """
    router = dot.router
    taste = router.bank == pb.BANK_TASTE
    address = link_router(router.number, router.bank, **({"at": at} if at else {}))
    return make_element(
        "a",
        make_element(
            "circle",
            cx=f"{dot.x:.1f}",
            cy=f"{dot.y:.1f}",
            r=f"{dot.radius + HALO:.1f}",
            class_="halo",
        ),
        draw_dot(dot, tooltip),
        href=address,
        aria_label=f"{get_name(router)}, router {router.number}",
        data_router=router.number if taste and not at else None,
        class_="busy" if taste and not at and flow != NO_FLOW else None,
    )
