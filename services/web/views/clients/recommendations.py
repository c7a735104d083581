"""Recommendations for a user: what, why, and how propagation changes it."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import exp
from urllib.parse import urlencode

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response

from propagation.v1 import propagation_pb2 as pb
from services.report.score_words import GROUPS, describe_part
from services.web.pictures.place_changes import Places, describe_change, draw_place_changes
from services.web.pictures.score_parts import draw_score_parts, sum_groups
from services.web.problems import BadAddress
from services.web.rendering import get_visitor
from services.web.views.addresses import read_number
from services.web.views.clients.client_pages import find_title, read_key, show_client
from services.web.views.view_table import ViewTable

LIMIT, MOST = 10, 50
PLACES = 1_000
"""How many places of each ranking are asked for, to say where an item was."""
LEAST_WITHHELD = 1e-6


@dataclass(frozen=True)
class Filters:
    """What the visitor asked for.

    Attributes:
        limit: How many items are shown.
        attributes: Only items with one of these; empty: all. Likewise categories.
        seen: Whether items are shown that the user has chosen already.
    """

    limit: int
    attributes: Sequence[str]
    categories: Sequence[str]
    seen: bool

    def build(
        self, user: str, limit: int, *, propagate: bool, explain: bool
    ) -> pb.RecommendRequest:
        """Return the request of the first `limit` items."""
        return pb.RecommendRequest(
            user_id=user,
            limit=limit,
            attributes=self.attributes,
            categories=self.categories,
            exclude_seen=not self.seen,
            explain=explain,
            propagate=propagate,
        )


def read_filters(query: QueryParams) -> Filters:
    """Read the filters of an address.

    Raises:
        BadAddress: The number of items is none, or too large.
    """
    limit = read_number(query.get("limit") or str(LIMIT), "The number of items", 1, MOST)
    attributes, categories = (
        [
            name
            for line in query.getlist(field)
            for name in map(str.strip, line.splitlines())
            if name
        ]
        for field in ("attributes", "categories")
    )
    return Filters(limit, attributes, categories, "seen" in query)


async def show_recommendations(request: Request) -> Response:
    """Show what is recommended with propagation, beside what would be without it."""
    visitor = get_visitor(request)
    key = read_key(request.query_params)
    if key.kind != pb.CLIENT_KIND_USER:
        raise BadAddress("Items are recommended to users: an item has similar items instead.")
    filters = read_filters(request.query_params)
    recommend = visitor.stub.Recommend
    answer, with_, without, status, title = await asyncio.gather(
        recommend(filters.build(key.id, filters.limit, propagate=True, explain=True)),
        recommend(filters.build(key.id, PLACES, propagate=True, explain=False)),
        recommend(filters.build(key.id, PLACES, propagate=False, explain=False)),
        visitor.stub.GetStatus(pb.GetStatusRequest()),
        find_title(visitor, key),
    )
    items = answer.recommendations
    places = compare_places(items, with_.recommendations, without.recommendations)
    near = items[0].explanation.near_taste if items else []
    return show_client(
        request,
        "recommendations.html",
        key,
        title or "",
        known=title is not None,
        filters=filters,
        items=items,
        cold=answer.cold,
        off=not status.propagate,
        changes={one.item_id: describe_change(one) for one in places},
        places=places,
        near_taste=near,
        groups=GROUPS,
        sums=[sum_groups(one.explanation) for one in items],
        withheld=[find_withheld(one) for one in items],
        parts_picture=draw_score_parts(items) if items else None,
        places_picture=draw_place_changes(places, filters.limit) if items else None,
        describe_part=describe_part,
        describe_lift=describe_lift,
        describe_change=describe_change,
        most=MOST,
        all_address=f"/client/recommendations?{urlencode({'kind': 'user', 'id': key.id})}",
    )


def compare_places(
    shown: Sequence[pb.Recommendation],
    with_: Sequence[pb.Recommendation],
    without: Sequence[pb.Recommendation],
) -> list[Places]:
    """List what is shown, and what would be without propagation.

    Args:
        shown: The first items with propagation. Only their own places count, because events that
            were learned between two calls may change the others.
        with_: A longer ranking with propagation.
        without: A longer ranking without it.
    """
    new, old = _number(with_) | _number(shown), _number(without)
    titles = {one.item_id: one.title for one in (*with_, *without, *shown)}
    listed = [one.item_id for one in shown]
    gone = [one.item_id for one in without[: len(shown)] if one.item_id not in set(listed)]
    return [Places(one, titles[one], old.get(one), new.get(one)) for one in (*listed, *gone)]


def _number(ranking: Iterable[pb.Recommendation]) -> dict[str, int]:
    return {one.item_id: place for place, one in enumerate(ranking, 1)}


def find_withheld(item: pb.Recommendation) -> float:
    """Return the part of a score that the visitor is not told.

    0 if the service tells all.
    """
    rest = item.score - sum(part.product for part in item.explanation.parts)
    return rest if abs(rest) > LEAST_WITHHELD * max(1.0, abs(item.score)) else 0.0


def describe_lift(share: pb.RouterShare) -> str:
    """Say how much more a community chooses an item than everyone does."""
    times = exp(share.lift)
    if abs(times - 1) < 0.05:
        return "about as often as everyone"
    if times > 1:
        return f"{times:.1f} times as often as everyone"
    return f"less often than everyone, by {1 - times:.0%}"


VIEWS = ViewTable(pages={"/client/recommendations": show_recommendations})
