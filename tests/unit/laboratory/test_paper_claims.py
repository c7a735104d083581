"""Claims of papers, judged on planted results."""

import numpy as np
import pytest

from propagation.evaluation.protocols.metrics import Paired
from propagation.laboratory.experiments import EXPERIMENTS
from propagation.laboratory.experiments.claims import Claim, Slice, claim_change
from propagation.laboratory.history import Known
from propagation.laboratory.methods import Measured
from propagation.laboratory.runs import (
    Part,
)
from propagation.laboratory.runs.verdicts import find_limit, judge

USERS = 200
TARGETS = [(f"u{user}", "i") for user in range(USERS)]
KNOWN = Known(np.arange(USERS) % 4, np.arange(USERS) % 2)


def plant(method, mean, seed=1, seconds=None, **counts):
    """Results whose users differ by chance, about a mean."""
    noise = np.random.default_rng(sum(map(ord, method)) + seed).normal(0, 0.1, USERS)
    values = {"n10": mean + noise}
    return Part(method, seed, "", TARGETS, values, seconds, Measured(counts=counts))


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        (Claim("good", "bad"), "holds"),
        (Claim("bad", "good"), "does not hold"),
        (Claim("good", "twin"), "cannot be told"),
        (Claim("good", "twin", differs=False), "no difference was found"),
        (Claim("good", "bad", differs=False), "does not hold"),
        (Claim("good", "agentcf"), "not run"),
        (Claim("good", "bad", "questions"), "not run"),
    ],
)
def test_the_verdict_follows_from_what_was_planted(claim, verdict):
    parts = [plant("good", 0.6), plant("bad", 0.5), plant("twin", 0.6)]
    assert judge(claim, parts, None).verdict == verdict


def test_seeds_are_averaged_first_and_users_are_the_units():
    noise = np.random.default_rng(1).normal(0, 1, USERS)
    opposite = [
        Part("good", seed, "", TARGETS, {"n10": 0.1 + sign * noise})
        for seed, sign in ((1, 1), (2, -1))
    ]
    base = [Part("bad", seed, "", TARGETS, {"n10": np.zeros(USERS)}) for seed in (1, 2)]
    judged = judge(Claim("good", "bad"), [*opposite, *base], None)
    assert judged.difference.mean == pytest.approx(0.1)
    assert judged.difference.standard_error == pytest.approx(0, abs=1e-9)
    assert (judged.units, judged.verdict) == (USERS, "holds")


def test_rounding_errors_are_no_difference():
    """The mean of three times 0.1 is not 0.1."""
    same = {"n10": np.where(np.arange(USERS) % 2, 0.1, 0.5)}
    assert np.any(np.mean([same["n10"]] * 3, axis=0) != same["n10"])
    parts = [Part("good", seed, "", TARGETS, same) for seed in (1, 2, 3)]
    parts.append(Part("bad", 1, "", TARGETS, same))
    judged = judge(Claim("good", "bad"), parts, None)
    assert judged.difference == Paired(mean=0, t=None, standard_error=0)
    assert judged.verdict == "cannot be told"
    none = judge(Claim("good", "bad", differs=False), parts, None)
    assert none.verdict == "no difference was found"


def test_a_claim_about_a_slice_sees_its_targets_only():
    good, bad = plant("good", 0.5), plant("bad", 0.5)
    good.values["n10"][KNOWN.history == 1] += 0.3
    cold, warm = Slice("history", 1, 1), Slice("history", 2, None)
    judged = judge(Claim("good", "bad", among=cold), [good, bad], KNOWN)
    assert (judged.verdict, judged.units) == ("holds", USERS // 4)
    assert "1 known interactions of the user" in judged.claim
    judged = judge(Claim("good", "bad", among=warm), [good, bad], KNOWN)
    assert (judged.verdict, judged.units) == ("cannot be told", USERS // 2)
    none = Slice("adopters", 9, None)
    assert judge(Claim("good", "bad", among=none), [good, bad], KNOWN).verdict == "no such targets"
    assert judge(Claim("good", "bad", among=cold), [good, bad], None).verdict == "not run"


def test_seconds_and_counts_are_paired_by_seed():
    slow = [plant("slow", 0.5, seed, 9.0 + seed / 10, questions=7.0) for seed in range(1, 7)]
    fast = [plant("fast", 0.5, seed, 2.0 - seed / 10, questions=5.0) for seed in range(1, 6)]
    judged = judge(Claim("slow", "fast", "seconds"), [*slow, *fast], None)
    assert (judged.verdict, judged.units) == ("holds", 5)
    assert judged.difference.mean == pytest.approx(7.6)
    assert judge(Claim("fast", "slow", "seconds"), [*slow, *fast], None).verdict == "does not hold"
    assert judge(Claim("slow", "fast", "questions"), [*slow, *fast], None).verdict == "holds"
    one = judge(Claim("slow", "fast", "seconds"), [slow[0], fast[0]], None)
    assert (one.verdict, one.units) == ("cannot be told", 1), "one seed has no standard error"
    few = judge(Claim("slow", "fast", "seconds"), [*slow[:4], *fast], None)
    assert (few.verdict, few.units) == ("cannot be told", 4)


def test_few_users_need_a_larger_t():
    assert [round(find_limit(units), 2) for units in (5, 20, 60, 943)] == [2.78, 2.09, 2.0, 1.96]


@pytest.mark.parametrize("experiment", EXPERIMENTS.values(), ids=lambda one: one.name)
def test_claims_are_about_what_an_experiment_measures(experiment):
    missing = (one.partition(":")[0] for one in experiment.missing)
    names = {*experiment.methods, *missing, *experiment.with_model}
    for claim in experiment.claims:
        assert claim.measure in {*experiment.headers, "seconds", "questions"}
        assert claim.measure_of_less in {*experiment.headers, "seconds", "questions"}
        assert not claim.than or claim.measure in experiment.headers
        assert {claim.greater, claim.less} <= names


def test_after_is_compared_with_before_by_user():
    """A user's luck is in both figures; what is planted is in one."""
    luck = np.random.default_rng(3).normal(0, 1.0, USERS)
    noise = np.random.default_rng(4).normal(0, 0.1, USERS)
    values = {"before": luck, "after": luck + noise + 0.05, "same": luck + noise}
    parts = [Part("agentcf", 1, "", TARGETS, values)]
    judged = judge(claim_change("agentcf", "after", "before"), parts, None)
    assert judged.claim == "agentcf: after > before"
    assert (judged.verdict, judged.units) == ("holds", USERS)
    by_hand = noise + 0.05
    assert judged.difference.mean == pytest.approx(by_hand.mean())
    error = by_hand.std(ddof=1) / np.sqrt(USERS)
    assert judged.difference.t == pytest.approx(by_hand.mean() / error)
    removed = judge(claim_change("agentcf", "same", "before"), parts, None)
    assert removed.verdict == "cannot be told"
    turned = judge(claim_change("agentcf", "before", "after"), parts, None)
    assert turned.verdict == "does not hold"
    other = judge(claim_change("agentcf-no-users", "after", "before"), parts, None)
    assert other.verdict == "not run"
    missing = judge(claim_change("agentcf", "after", "later"), parts, None)
    assert missing.verdict == "not run"


@pytest.mark.parametrize("each", [1, 25])
def test_targets_of_one_user_are_one_unit(each):
    """All targets of a user have the same difference, so more of them tell nothing more."""
    users = 8
    own = np.random.default_rng(2).normal(0.3, 0.5, users)
    targets = [(f"u{user}", f"i{n}") for n in range(each) for user in range(users)]
    parts = [
        Part("good", 1, "", targets, {"n10": np.tile(own, each)}),
        Part("bad", 1, "", targets, {"n10": np.zeros(users * each)}),
    ]
    judged = judge(Claim("good", "bad"), parts, None)
    assert judged.units == users
    assert judged.difference.standard_error == pytest.approx(own.std(ddof=1) / np.sqrt(users))
    assert judged.verdict == "cannot be told"
    half = Slice("history", 1, 1)
    known = Known(np.arange(users * each) % users // 4, np.zeros(users * each))
    assert judge(Claim("good", "bad", among=half), parts, known).units == 4


def test_the_agents_of_agentcf_are_compared_before_and_after():
    for name, claims in {
        "agentcf/reflection": ["agentcf: after_1 > before_1", "agentcf: before_2 > before_1"],
        "agentcf/user-user": ["agentcf: praise > before", "agentcf: before > criticism"],
        "agentcf/item-item": ["agentcf: alike > cold", "agentcf: unlike > cold"],
    }.items():
        assert {*claims} <= {str(claim) for claim in EXPERIMENTS[name].claims}
