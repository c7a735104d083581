"""Evolution of routers by hand (RecNet 2.4): halves, numbers, lineage, judge, offline decision."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from propagation.adapters.offline.evolve import decide
from propagation.model import (
    ClientKind,
    EvolutionChange,
    EvolutionKind,
    FilterMemory,
    FilterRule,
    Halves,
    InvalidInput,
    RouterCase,
    RouterHalf,
    RouterMap,
    RouterMaps,
    RouterVersion,
    RoutingEdge,
    compute_ref,
)
from propagation.numbers import Written, evolve_mass, evolve_total, evolve_trust
from propagation.optimization.holdout_judge import Verdict, judge
from propagation.optimization.router_lineage import follow_edges, follow_rules, number_routers
from propagation.optimization.router_merge import (
    compute_merge_costs,
    compute_router_products,
    compute_router_similarities,
)
from propagation.optimization.router_split import is_nearer_second, split_by_two_means
from propagation.workflow.evolve.undo_planner import find_undoable, reverse_numbering

SPLIT, MERGE, REWRITE = EvolutionKind.SPLIT, EvolutionKind.MERGE, EvolutionKind.REWRITE
ANN, BOB, AIDA = (
    compute_ref(ClientKind.USER, 0),
    compute_ref(ClientKind.USER, 1),
    compute_ref(ClientKind.ITEM, 0),
)


def change(kind, *before):
    return EvolutionChange(kind=kind, before=before, after=())


def router_map(home, halves=None, routers=None, retired=(), run=1, undoes=None, **fields):
    return RouterMap(
        run=run,
        through=9,
        from_epoch=1,
        to_epoch=2,
        home=np.array(home),
        routers=routers or len(home),
        centres=np.zeros((len(home), 2), np.float32),
        retired=frozenset(retired),
        halves=halves or {},
        undoes=undoes,
        **fields,
    )


# Router 1 is split: Ann stays, Bob goes to 3. Routers 0 and 2 are merged.
BOTH = router_map(
    [0, 1, 0], {1: Halves(1, 3, np.array([False, True]), False, 0.25)}, routers=4, retired=(2,)
)


def test_two_means_finds_two_directions_and_weight_decides():
    vectors = np.array([[1, 0], [0.9, 0.1], [0, 1], [0.1, 0.9]], np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    centres = split_by_two_means(vectors, np.ones(4), seed=3)
    sides = is_nearer_second(vectors, centres)
    assert sides[0] == sides[1] != sides[2] == sides[3]
    heavy = split_by_two_means(vectors, np.array([1, 1e-9, 1, 1e-9]), seed=3)
    assert sorted(heavy @ vectors[0] > 0.999) == [False, True]
    assert (split_by_two_means(vectors, np.ones(4), seed=3) == centres).all()


def test_one_direction_gives_two_equal_centres():
    centres = split_by_two_means(
        np.tile(np.array([[0.6, 0.8]], np.float32), (3, 1)), np.ones(3), seed=1
    )
    assert not is_nearer_second(np.array([[0.6, 0.8]], np.float32), centres).any()


def test_numbers_keep_their_meaning_and_retired_ones_are_used_again():
    done = number_routers(
        [change(SPLIT, 3), change(MERGE, 1, 4), change(SPLIT, 0), change(REWRITE, 5)],
        6,
        frozenset({2}),
    )
    assert done.halves == {3: (3, 2), 0: (0, 6)}
    assert (done.routers, done.retired) == (7, frozenset({4}))
    assert done.home.tolist() == [0, 1, 2, 3, 1, 5]
    assert [one.after for one in done.changes] == [(3, 2), (1,), (0, 6), (5,)]


def test_masses_add_or_are_divided_and_trust_takes_the_larger_or_is_copied():
    mass = np.array([[1.0, 5.0, 2.0], [0.5, 4.0, 0.0]])
    written = {1: Written(np.array([3.0, 0.0]), np.array([1.0, 4.0]))}
    after = evolve_mass(mass, BOTH, written)
    assert after == pytest.approx(
        np.array([[3, 3.25, 0, 1.75], [0.5, 0, 0, 4]])
    )  # the start mass of 1 goes one to three
    assert evolve_total(mass.sum(axis=0), mass, BOTH, written) == pytest.approx(after.sum(axis=0))
    trust = evolve_trust(np.array([[1.0, 2.0, 7.0], [4.0, 0.0, 3.0]], np.float32), BOTH)
    assert trust.tolist() == [[7, 2, -np.inf, 2], [4, 0, -np.inf, 0]]


@given(st.integers(0, 2**32 - 1))
def test_no_mass_is_lost_or_made(seed):
    draw = np.random.default_rng(seed)
    mass = draw.random((5, 3)).astype(np.float32)
    both = mass[:, 1] * draw.random(5)
    written = {1: Written(both * 0.3, both * 0.7)}
    after = evolve_mass(mass, BOTH, written)
    assert after.min() >= 0
    assert after.sum(axis=1) == pytest.approx(mass.sum(axis=1), rel=1e-5)
    assert evolve_total(mass.sum(axis=0, dtype=np.float64), mass, BOTH, written) == pytest.approx(
        after.sum(axis=0, dtype=np.float64), rel=1e-6
    )


def edge(router, ref, score):
    return RoutingEdge(router=router, ref=ref, score=score, from_sequence=1)


def test_edges_follow_a_user_to_its_half_an_item_to_both_and_a_merge_keeps_the_larger_score():
    edges = [
        edge(1, ANN, 0.4),
        edge(1, BOB, 0.5),
        edge(1, AIDA, 0.6),
        edge(0, ANN, 0.2),
        edge(2, ANN, 0.3),
        edge(2, BOB, 0.1),
    ]
    change = follow_edges(BOTH, [1, 2], edges)
    assert sorted(change.closed) == [(0, ANN), (1, BOB), (2, ANN), (2, BOB)]
    assert {(one.router, one.ref): one.score for one in change.opened} == {
        (3, BOB): 0.5,
        (3, AIDA): 0.6,
        (0, ANN): 0.3,
        (0, BOB): 0.1,
    }


def rule(router, factor, evidence=(), attribute=None, age=0):
    return FilterRule(
        router=router, attribute=attribute, factor=factor, text="", evidence=evidence, age=age
    )


def test_rules_follow_to_both_halves_and_at_a_merge_the_stronger_stays():
    memory = FilterMemory(
        rules=(rule(1, 0.5), rule(0, 1.25), rule(2, 0.4), rule(None, 2.0, attribute="jazz"))
    )
    followed = follow_rules(memory, BOTH)
    assert {one.target: one.factor for one in followed.rules} == {
        (1, None): 0.5,
        (3, None): 0.5,
        (0, None): 0.4,
        (None, "jazz"): 2.0,
    }
    untouched = FilterMemory(rules=(rule(0, 2.0), rule(None, 0.5, attribute="opera")))
    assert follow_rules(untouched, BOTH) is untouched


def test_a_moved_rule_keeps_the_number_of_the_router_that_it_was_about():
    memory = FilterMemory(rules=(rule(1, 0.5), rule(0, 0.9), rule(2, 0.4), rule(3, 0.8)))
    split_and_merged = follow_rules(memory, BOTH)
    assert {one.router: one.first_router for one in split_and_merged.rules} == {
        1: None,
        3: 1,
        0: 2,
    }, "the rule about 2 was stronger than that about 0, and that of the half than that about 3"
    back = router_map([0, 1, 0, 1], {}, routers=2)
    followed = follow_rules(FilterMemory(rules=split_and_merged.rules[1:]), back)
    assert {one.router: one.first_router for one in followed.rules} == {1: None, 0: 2}, (
        "the half's rule is about the number again that it began with"
    )


def test_an_undo_gives_a_rule_back_to_the_router_that_it_was_about():
    merged = router_map([0, 0], retired=(1,))  # its barrier is 9
    undo = router_map([0, 0], {0: Halves(0, 1, np.array([]), False, 0.5)}, undoes=1, run=2)
    maps = RouterMaps([merged])
    assert maps.find_undone(undo) is merged
    assert maps.find_undone(merged) is None
    for about in (0, 1):
        [stays] = follow_rules(FilterMemory(rules=(rule(about, 0.5, age=9),)), merged).rules
        assert stays.router == 0
        [back] = follow_rules(FilterMemory(rules=(stays,)), undo, merged).rules
        assert (back.router, back.first_router) == (about, None)
    since = FilterMemory(rules=(rule(0, 0.5, age=10),))
    assert [one.router for one in follow_rules(since, undo, merged).rules] == [0, 1]


def test_there_are_never_more_than_eight_rules():
    memory = FilterMemory(
        rules=(rule(1, 0.5, (1,)), *(rule(None, 2.0, (1, 2), str(n)) for n in range(7)))
    )
    assert len(follow_rules(memory, BOTH).rules) == 8


def test_the_judge_by_hand():
    users = np.array([0, 0, 1])
    scores = np.zeros((3, 2), np.float32)
    before, after = np.zeros((3, 2)), np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    verdict = judge(users, scores, before, after, np.ones((3, 2)), 4)
    better, worse = np.log1p(np.exp(-1.0)) - np.log(2), np.log1p(np.exp(1.0)) - np.log(2)
    assert verdict.before == pytest.approx(np.log(2)), "the loss before, by hand"
    assert verdict.after - verdict.before == pytest.approx((better + worse) / 2), (
        "the difference, by hand"
    )
    assert verdict.standard_error == pytest.approx(abs(worse - better) / 2), (
        "its standard error, by hand"
    )
    assert verdict.published, "one user each way: within one standard error"
    assert "2 users and 3 of the 4" in verdict.verdict, "the verdict counts what could be judged"
    alike = judge(np.array([0, 1]), scores[:2], before[:2], -after[:2], np.ones((2, 2)), 2)
    assert not alike.published, "worse for all alike is refused"
    assert "2 users and 2 of the 2" in alike.verdict, "the verdict counts what could be judged"
    assert judge(users, scores, before, before, np.ones((3, 2)), 4).published, (
        "no change is no worse"
    )
    assert judge(users[:2], scores[:2], before[:2], after[:2], np.ones((2, 2)), 2) is None, (
        "of one user there is no verdict"
    )


def test_a_verdict_shows_a_difference_however_small():
    small = Verdict(
        users=9,
        interactions=9,
        held_out=9,
        before=0.3226,
        after=0.3226 + 1.2e-6,
        standard_error=3e-7,
    )
    assert (
        "0.32260000 becomes 0.32260120 (+0.00000120, one standard error is 0.00000030)"
        in small.verdict
    )
    assert (
        "0.3226 becomes 0.4226 (+0.1000, one standard error is 0.2000)"
        in Verdict(9, 9, 9, 0.3226, 0.4226, 0.2).verdict
    )
    assert (
        "(+0.0000, one standard error is 0.0000)" in Verdict(9, 9, 9, 0.3226, 0.3226, 0.0).verdict
    )


def test_routers_through_which_the_same_is_adopted_are_alike():
    mass = np.array([[4, 2, 0, 0], [4, 2, 0, 0], [0, 0, 5, 0], [0, 0, 5, 0]], np.float32)
    total = mass.sum(axis=0, dtype=np.float64)
    gram = compute_router_products(mass, total, np.array([6.0, 6, 5, 5]), np.array([22.0, 4]))
    found = compute_router_similarities(gram)
    assert found[0, 1] == pytest.approx(1)
    assert found[0, 2] == pytest.approx(0)
    assert (found[3] == -1).all()
    assert (np.diag(found) == -1).all()
    costs = compute_merge_costs(gram, total)
    assert costs[0, 1] == pytest.approx(0, abs=1e-9)
    assert costs[0, 2] > costs[1, 2] > costs[0, 3] == 0, (
        "a small router costs less, an empty one nothing"
    )


def test_an_undo_leads_back_to_the_numbers_of_before():
    back = reverse_numbering(BOTH)
    assert (back.home.tolist(), back.halves, back.routers, back.retired) == (
        [0, 1, 2, 1],
        {0: (0, 2)},
        3,
        frozenset(),
    )
    assert [(one.kind, one.before, one.after) for one in back.changes] == [
        (MERGE, (1, 3), (1,)),
        (SPLIT, (0,), (0, 2)),
    ]
    reused = router_map([0, 1, 2], {1: Halves(1, 2, np.zeros(1, np.bool_), False, 0.5)})
    assert reverse_numbering(reused).retired == frozenset({2})


def test_which_run_can_be_undone():
    first, second = router_map([0, 1], run=1), router_map([0, 1], run=2)
    undone = router_map([0, 1], run=3, undoes=2)
    assert find_undoable([first, second], 2) is second
    assert find_undoable([first, second, undone], 1) is first
    assert find_undoable([first, second, undone], 3) is undone
    for maps, run, words in (
        ([first, second], 1, "undo run 2 first"),
        ([first, second, undone], 2, "is undone"),
        ([], 7, "is 7"),
    ):
        with pytest.raises(InvalidInput, match=words):
            find_undoable(maps, run)


def case(**fields):
    version = RouterVersion(
        router=4, version=1, round=1, epoch=1, name="jazz", text="t", standing=(("jazz", 3.0),)
    )
    return RouterCase(
        **{
            "router": version,
            "gradients": (),
            "praised": 8,
            "blamed": 2,
            "choices": {"jazz": 9},
            "common": {},
            **fields,
        }
    )


def half(share, **wanted):
    return RouterHalf(
        share=share, choices=wanted, standing={name: float(count) for name, count in wanted.items()}
    )


def test_the_offline_decision():
    other = RouterVersion(router=2, version=1, round=1, epoch=1, name="bop", text="t")
    assert decide(case()).kind is None
    near = {"nearest": other, "similarity": 0.9, "merged_standing": {"jazz": 3.0}}
    merge = decide(case(missing=-1, **near))
    assert (merge.kind, len(merge.texts), "router 2" in merge.reason) == (MERGE, 1, True)
    assert decide(case(**near)).kind is None
    halves = half(0.4, jazz=9), half(0.6, opera=7)
    assert decide(case(halves=halves)).kind is None
    split = decide(case(missing=1, halves=halves))
    assert (split.kind, ["jazz" in text for _, text in split.texts]) == (SPLIT, [True, False])
    assert decide(case(missing=1, halves=(half(0.95, jazz=9), half(0.05, opera=7)))).kind is None
    rewrite = decide(case(praised=2, blamed=8, choices={"opera": 8, "jazz": 2}))
    assert (rewrite.kind, "opera" in rewrite.texts[0][1]) == (REWRITE, True)
