"""A router's standing after parts are withdrawn.

It is as if these parts had never arrived.
"""

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from propagation.model import (
    AffectedMessage,
    EvolutionChange,
    EvolutionKind,
    EvolutionRun,
    IntegratedAttribute,
    RouterVersion,
)
from propagation.routing.integration import update_standing
from propagation.workflow.forget.standing_withdrawal import StandingWithdrawal

NOTHING = frozenset[str]()


def message(version, standing, router=0, round_=None, lost=()):
    parts = tuple(IntegratedAttribute(name, 0, 1, 1) for name in lost)
    round_ = version if round_ is None else round_
    one = RouterVersion(
        router, version, round_, 0, "", "", tuple(standing), tuple(standing.items()), parts
    )
    return AffectedMessage(one, parts)


def evolution(round_, kind, before, after, run=1, undoes=None, published=True):
    change = EvolutionChange(kind=kind, before=before, after=after)
    return EvolutionRun(
        run=run, round=round_, published=published, changes=(change,), undoes=undoes
    )


rounds_of_arrivals = st.lists(
    st.lists(st.tuples(st.sampled_from("abcde"), st.booleans()), max_size=6),
    min_size=1,
    max_size=12,
)


@given(rounds_of_arrivals)
def test_it_stands_for_what_it_would_without_the_parts(rounds):
    """Each arrival is (name, whether it is withdrawn later)."""
    corrected = StandingWithdrawal([])
    before, clean = None, None
    for version, arrivals in enumerate(rounds, start=1):
        going = [name for name, goes in arrivals if goes]
        standing = update_standing(before, Counter(name for name, _ in arrivals))
        expected = update_standing(clean, Counter(name for name, goes in arrivals if not goes))
        one = message(version, standing, lost=going)
        before = one.message
        clean = message(version, expected).message
        found = dict(corrected.correct(one, NOTHING))
        assert found == pytest.approx(expected, abs=1e-3)
        assert found.keys() == expected.keys(), "nothing is left of what goes altogether"


def test_an_attribute_that_nobody_may_pass_on_goes_with_all_parts_of_the_message():
    corrected = StandingWithdrawal([])
    corrected.correct(message(1, {"jazz": 2.0}), NOTHING)
    one = message(2, {"jazz": 2.0 * 0.95 + 3}, lost=["jazz"])
    assert dict(corrected.correct(one, frozenset(["jazz"]))) == pytest.approx({"jazz": 1.9})


def test_a_weight_that_may_rest_on_messages_that_are_gone_goes_to_what_this_message_brought():
    """Of jazz two senders are left in this message, of opera none, and folk is beyond doubt."""
    weights = {"jazz": 5.0, "opera": 2.0, "folk": 3.0}
    one = replace(message(7, weights), remaining={"jazz": frozenset([(1, 0), (2, 0)])})
    corrected = StandingWithdrawal([])
    found = corrected.correct(one, NOTHING, frozenset(["jazz", "opera"]))
    assert dict(found) == {"jazz": 2.0, "folk": 3.0}
    later = message(8, {"jazz": 4.75, "opera": 1.9, "folk": 2.85})
    assert dict(corrected.correct(later, NOTHING)) == pytest.approx({"jazz": 1.9, "folk": 2.85})


def test_an_evolved_router_keeps_nothing_that_may_rest_on_messages_that_are_gone():
    """The last message of the router before, which lost opera, is not stored any more."""
    corrected = StandingWithdrawal([evolution(9, EvolutionKind.SPLIT, (0,), (0, 7))])
    corrected.correct(message(1, {"opera": 4.0, "folk": 2.0}), NOTHING)
    half = message(1, {"opera": 2.0, "folk": 1.0}, router=7, round_=9)
    opera = frozenset(["opera"])
    assert dict(corrected.correct(half, opera, opera)) == {"folk": 1.0}


def test_both_halves_of_a_split_lose_it():
    corrected = StandingWithdrawal([evolution(2, EvolutionKind.SPLIT, (0,), (0, 7))])
    corrected.correct(message(1, {"jazz": 4.0, "folk": 2.0}, lost=["jazz", "folk"]), NOTHING)
    for router, version in ((0, 2), (7, 1)):
        half = message(version, {"jazz": 2.0, "folk": 1.0}, router, round_=2)
        assert dict(corrected.correct(half, NOTHING)) == {"jazz": 1.5, "folk": 0.5}


def test_a_merged_router_keeps_what_the_other_brought():
    corrected = StandingWithdrawal([evolution(3, EvolutionKind.MERGE, (0, 1), (0,))])
    corrected.correct(message(1, {"jazz": 1.0}, lost=["jazz"]), NOTHING)
    corrected.correct(message(1, {"jazz": 3.0}, router=1, round_=2), NOTHING)
    merged = message(2, {"jazz": 4.0}, round_=3)
    assert dict(corrected.correct(merged, NOTHING)) == {"jazz": 3.0}


def test_an_undo_loses_what_was_said_before_the_run():
    runs = [
        evolution(2, EvolutionKind.SPLIT, (0,), (0, 7)),
        evolution(3, EvolutionKind.MERGE, (0, 7), (0,), run=2, undoes=1),
    ]
    corrected = StandingWithdrawal(runs)
    corrected.correct(message(1, {"jazz": 1.0, "folk": 1.0}, lost=["jazz"]), NOTHING)
    corrected.correct(message(2, {"folk": 1.0}), NOTHING)
    undone = message(3, {"jazz": 1.0, "folk": 1.0})
    assert dict(corrected.correct(undone, NOTHING)) == {"folk": 1.0}


def test_weights_are_inherited_from_the_routers_before_each_run():
    """After an undo a router has its text from before the run.

    It takes nothing from the other half.
    """
    split = evolution(2, EvolutionKind.SPLIT, (0,), (0, 7))
    merge = evolution(2, EvolutionKind.MERGE, (3, 4), (3,))
    undo = evolution(3, EvolutionKind.MERGE, (0, 7), (0,), run=2, undoes=1)
    refused = evolution(4, EvolutionKind.SPLIT, (5,), (5, 8), run=3, published=False)
    assert StandingWithdrawal([split]).origins == {0: {0}, 7: {0}}
    assert StandingWithdrawal([merge]).origins == {3: {3, 4}}
    assert StandingWithdrawal([split, undo, refused]).origins == {0: {0}, 7: {0}}


def test_a_run_that_was_not_published_made_no_router():
    run = evolution(2, EvolutionKind.SPLIT, (0,), (0, 7), published=False)
    corrected = StandingWithdrawal([run])
    corrected.correct(message(1, {"jazz": 2.0}), NOTHING)
    one = message(2, {"jazz": 2.0 * 0.95 + 1}, lost=["jazz"])
    assert dict(corrected.correct(one, NOTHING)) == pytest.approx({"jazz": 1.9})


def test_a_weight_that_was_rounded_to_nothing_divides_nothing():
    corrected = StandingWithdrawal([evolution(2, EvolutionKind.REWRITE, (0,), (0,))])
    corrected.correct(message(1, {"jazz": 0.0, "folk": 1.0}, lost=["jazz"]), NOTHING)
    rewritten = message(2, {"jazz": 1.0, "folk": 1.0})
    assert dict(corrected.correct(rewritten, NOTHING)) == {"jazz": 1.0, "folk": 1.0}
    assert dict(corrected.correct(rewritten, frozenset(["jazz"]))) == {"folk": 1.0}
