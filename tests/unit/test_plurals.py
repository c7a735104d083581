"""Numbers in sentences."""

from propagation.model import pluralize


def test_one_is_not_many():
    assert [pluralize(number, "event") for number in (0, 1, 2, 1_000)] == [
        "0 events",
        "1 event",
        "2 events",
        "1,000 events",
    ]
    assert [pluralize(number, "entry", "entries") for number in (1, 2)] == ["1 entry", "2 entries"]
