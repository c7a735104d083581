"""Labels and curves that several drawings share."""

from services.report.html import shorten, trace_curve


def test_a_label_that_is_cut_ends_in_an_ellipsis():
    assert shorten("map novels", 10) == "map novels"
    assert shorten("maps, novels", 6) == "maps…"


def test_a_curve_begins_and_ends_level():
    assert trace_curve(0, 2, 10, 8) == "M0.0 2.0 C5.0 2.0 5.0 8.0 10.0 8.0"
