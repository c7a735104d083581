"""The map of routers: near is what shares, rare attributes count more, nothing falls off."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from propagation.v1 import propagation_pb2 as pb
from services.report.router_map import (
    FIELD,
    MAX_RADIUS,
    MIN_OPACITY,
    MIN_RADIUS,
    describe_trust,
    lay_out_routers,
    measure_dots,
)


def make_routers(*attributes):
    return [pb.Router(number=n, attributes=names, members=n) for n, names in enumerate(attributes)]


def test_routers_that_share_attributes_are_near_each_other():
    routers = make_routers(*(["jazz", "soul"] if n < 6 else ["opera", "lied"] for n in range(12)))
    places = lay_out_routers(routers, {}).places
    one, other = places[:6], places[6:]
    spread = max(np.linalg.norm(part - part.mean(axis=0), axis=1).mean() for part in (one, other))
    assert np.linalg.norm(one.mean(axis=0) - other.mean(axis=0)) > 2 * spread


def test_common_members_tie_routers_as_attributes_do():
    routers = make_routers(["a"], ["b"], ["c"])
    item = pb.RouterMember(client=pb.ClientKey(kind=pb.CLIENT_KIND_ITEM, id="i"))
    layout = lay_out_routers(routers, {0: [item, pb.RouterMember(count=3)], 2: [item]})
    assert [(one, other) for one, other, _ in layout.links] == [(0, 2)]


def test_a_rare_attribute_ties_more_than_one_that_all_have():
    routers = make_routers(
        ["drama", "film-noir"], ["drama", "western"], ["drama", "film-noir"], ["drama", "musical"]
    )
    pairs = {(one, other): share for one, other, share in lay_out_routers(routers, {}).links}
    assert pairs[0, 2] == 1.0
    assert all(share < 0.5 for pair, share in pairs.items() if pair != (0, 2))


@settings(deadline=None, max_examples=25)
@given(st.lists(st.lists(st.sampled_from("abcd"), max_size=4, unique=True), max_size=9))
def test_every_router_is_on_the_picture(attributes):
    routers = make_routers(*attributes)
    layout = lay_out_routers(routers, {})
    assert layout.places.shape == (len(routers), 2)
    assert ((layout.places >= 0) & (layout.places <= FIELD)).all()
    assert all(0 < share <= 1 for *_, share in layout.links)
    np.testing.assert_array_equal(layout.places, lay_out_routers(routers, {}).places)


def test_dots_show_members_and_reach():
    routers = make_routers(["a"], ["b"], ["c"])
    dots = measure_dots(routers, {1: 5, 2: 10}, lay_out_routers(routers, {}))
    assert [dot.radius for dot in dots] == pytest.approx(
        [MIN_RADIUS, MIN_RADIUS + (MAX_RADIUS - MIN_RADIUS) / 2**0.5, MAX_RADIUS]
    )
    assert [dot.opacity for dot in dots] == pytest.approx([MIN_OPACITY, (1 + MIN_OPACITY) / 2, 1.0])


def test_trust_is_told_of_the_taste_routers_of_now():
    taste = pb.Router(number=1, bank=pb.BANK_TASTE)
    assert describe_trust(taste) == "", "the past keeps no numbers"
    taste.trusted_by = 0
    assert describe_trust(taste) == ", trusted most by 0 users"
    taste.trusted_by = 1
    assert describe_trust(taste) == ", trusted most by 1 user"
    assert describe_trust(pb.Router(number=1, bank=pb.BANK_SESSION, trusted_by=1)) == ""
