"""The picture: groups lie apart, labels do not overlap, the file is a picture."""

from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure

from propagation.v1 import propagation_pb2 as pb
from propagation_client import user_key
from services.demo.data import Reach
from services.demo.picture import _build_matrix, draw
from services.demo.story import Story
from services.report.force_layout import compute_force_layout, spread_labels

GROUPS = {f"u{n}": "left" if n < 10 else "right" for n in range(20)}
TABLES = {user: {0 if place == "left" else 1: 1.0} for user, place in GROUPS.items()}
REACH = Reach(
    {0: "jazz and cellars", 1: "hill walks"},
    TABLES,
    GROUPS,
    ["left", "right"],
    Counter({("left", 0, "left"): 7, ("left", 1, "right"): 2}),
)


def make_story(senders, user):
    """A story whose line came from these senders over router 0."""
    clients = pb.Parties.Clients(keys=[user_key(sender) for sender in senders])
    message = pb.MessageSource(router=0, senders=pb.Parties(clients=clients))
    line = pb.Line(sources=[pb.Source(message=message)])
    return Story(user, pb.Profile(), pb.Profile(), line, True, None, frozenset())


def test_groups_lie_apart_and_the_seed_decides():
    weights = np.kron(np.eye(2), np.ones((8, 8))) - np.eye(16)
    places = compute_force_layout(weights, seed=3)
    left, right = places[:8], places[8:]
    spread = max(np.linalg.norm(part - part.mean(axis=0), axis=1).mean() for part in (left, right))
    assert np.linalg.norm(left.mean(axis=0) - right.mean(axis=0)) > 2 * spread
    np.testing.assert_array_equal(places, compute_force_layout(weights, seed=3))
    assert np.abs(places).max() <= 1 + 1e-9


@settings(deadline=None, max_examples=30)
@given(st.lists(st.tuples(st.floats(-1, 1), st.floats(-1, 1)), min_size=1, max_size=14))
def test_labels_do_not_overlap(wanted):
    sizes = np.full((len(wanted), 2), (0.3, 0.06))
    places = spread_labels(np.array(wanted), sizes)
    for one in range(len(places)):
        for other in range(one):
            gap = np.abs(places[one] - places[other])
            assert (gap >= sizes[one] - 1e-9).any()


def test_the_picture_is_written(tmp_path):
    file = tmp_path / "out" / "reach.png"
    draw(REACH, "a small town", make_story(["u1", "u2"], "u3"), file, seed=1)
    assert file.read_bytes().startswith(b"\x89PNG")


def test_names_are_neither_formulas_nor_controls(tmp_path):
    """A letter without a glyph would be a warning, and warnings are errors."""
    odd = "$\\frac$ a\u202eb\x9bc"
    users = {f"{user}{odd}": odd for user in GROUPS}
    tables = {user: {0: 1.0, 1: 0.5} for user in users}
    reach = Reach({0: odd, 1: odd}, tables, users, [odd], Counter({(odd, 0, odd): 7}))
    file = tmp_path / "reach.png"
    draw(reach, odd, make_story([f"u1{odd}"], f"u3{odd}"), file, seed=1)
    assert file.exists()


def test_who_reached_whom_is_summed_over_routers():
    axes = Figure().subplots()
    _build_matrix(axes, REACH)
    assert axes.images[0].get_array().tolist() == [[7, 2], [0, 0]]
