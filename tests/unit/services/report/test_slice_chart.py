"""The chart of slices: where its marks lie, worked out by hand, and the page that shows it."""

from datetime import UTC, datetime
from xml.etree.ElementTree import Element, tostring

import pytest

from propagation.evaluation.protocols.metrics import Paired, Slice
from propagation.evaluation.reports.results_reader import SlicedResults
from propagation.v1 import propagation_pb2 as pb
from services.report.collect import ReportData
from services.report.page import render_page
from services.report.slice_chart import LEFT, RIGHT, WIDTH, Scale, draw_slices_panel


def make_slice(of="user", least=2, most=5, events=40, over_knn=None, gain_live=None):
    return Slice(
        of=of,
        least=least,
        most=most,
        events=events,
        off=None,
        adoption=None,
        offk=0.5,
        offk_adoption=0.5,
        knn=0.5,
        gain=None,
        gain_live=gain_live,
        over_knn=over_knn,
    )


def pair(mean, error):
    return Paired(mean=mean, t=mean / error if error else None, standard_error=error)


def find(panel: Element, style: str) -> list[Element]:
    return [one for one in panel.iter() if style in (one.get("class") or "").split()]


def test_bars_stand_where_the_numbers_are():
    clear, level = pair(0.02, 0.01), pair(-0.01, 0.01)
    panel = draw_slices_panel("history of the user", [make_slice(over_knn=clear, gain_live=level)])
    # The 95% intervals reach from -.0296 to .0396, and the scale has 6% of this at both ends.
    low, high = -0.0296 - 0.06 * 0.0692, 0.0396 + 0.06 * 0.0692

    def place(value):
        return LEFT + (WIDTH - LEFT - RIGHT) * (value - low) / (high - low)

    (zero,) = find(panel, "zero")
    assert float(zero.get("x1")) == float(zero.get("x2")) == pytest.approx(place(0), abs=0.1)
    for style, mean, error in (("knn", 0.02, 0.01), ("routers", -0.01, 0.01)):
        (drawn,) = find(panel, style)
        (circle,) = drawn.iter("circle")
        assert float(circle.get("cx")) == pytest.approx(place(mean), abs=0.1)
        for width, errors in (("thin", 1.96), ("thick", 1.0)):
            (bar,) = find(drawn, width)
            assert [float(bar.get("x1")), float(bar.get("x2"))] == pytest.approx(
                [place(mean - errors * error), place(mean + errors * error)], abs=0.1
            )
    texts = "".join(panel.itertext())
    for text in ("2 to 5", "40 targets", "+0.0200 ± 0.0100", "-0.0100 ± 0.0100"):
        assert text in texts
    assert not find(panel, "worse"), "one standard error below zero is not more than one"


def test_a_slice_that_is_worse_is_marked():
    panel = draw_slices_panel(
        "adopters of the item",
        [
            make_slice(over_knn=pair(-0.0101, 0.01), gain_live=pair(0.001, 0.002)),
            make_slice(over_knn=pair(0.1, 0.2), gain_live=pair(-0.3, None)),
        ],
    )
    (worse,) = find(panel, "worse")
    text = "".join(worse.itertext())
    assert "2 to 5, 40 targets: live over kNN alone -0.0101 ± 0.0100, worse by more than" in text
    assert "-0.3000 (one user)" in "".join(panel.itertext())


def test_equal_rankings_and_unknown_differences_have_a_panel_too():
    flat = draw_slices_panel("x", [make_slice(over_knn=pair(0, 0), gain_live=None)])
    assert len(find(flat, "difference")) == 1
    assert "nan" not in tostring(flat, encoding="unicode")


@pytest.mark.parametrize(
    ("scale", "ticks"),
    [
        (Scale(-0.0021, 0.0212), [0, 0.005, 0.01, 0.015, 0.02]),
        (Scale(-0.5, 0.5), [-0.4, -0.2, 0, 0.2, 0.4]),
        (Scale(-0.0093, 0.0), [-0.008, -0.006, -0.004, -0.002, 0]),
    ],
)
def test_ticks_are_round_and_have_zero(scale, ticks):
    assert scale.list_ticks() == pytest.approx(ticks)


BARE = ReportData(pb.GetStatusResponse(), [], {}, {}, [], 0, datetime(2026, 1, 2, tzinfo=UTC))


def test_the_page_shows_the_slices_of_results():
    results = SlicedResults(
        file="<b>targets</b>.csv",
        known="moment",
        seed=2,
        seeds=3,
        targets=41,
        slices=[
            make_slice(over_knn=pair(-0.02, 0.01), gain_live=pair(0.02, 0.01)),
            make_slice(most=None, least=21, events=0),
            make_slice("item", 0, 0, 1, over_knn=pair(0.5, None), gain_live=pair(0.25, None)),
        ],
    )
    page = render_page(BARE, results)
    assert "Where ranking gains and loses" in page
    assert (
        "evaluation in &lt;b&gt;targets&lt;/b&gt;.csv, not from this service: 41 targets, each"
        " ranked at its own moment; seed 2, the median of 3."
    ) in page
    assert "by history of the user" in page
    assert "by adopters of the item" in page
    assert "-0.0200 ± 0.0100" in page
    assert "21 or more" not in page, "it has no targets"


def test_a_page_without_results_has_no_slices():
    assert "gains and loses" not in render_page(BARE)
