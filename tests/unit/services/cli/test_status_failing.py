"""What fails for one reason is one row of the status: 80 routers of a bad model were 160 lines."""

from services.cli.operator.service import describe_failing


def test_what_fails_for_one_reason_shares_a_row():
    failing = {f"router {n}": "left out of round 3" for n in range(80)}
    failing["reason"] = "timed out"
    assert describe_failing(failing) == [
        ("failing: router 0, router 1, router 2 and 77 more", "left out of round 3"),
        ("failing: reason", "timed out"),
    ]


def test_a_few_are_all_named():
    few = dict.fromkeys(("index", "reason", "round"), "away")
    assert describe_failing(few) == [("failing: index, reason, round", "away")]
