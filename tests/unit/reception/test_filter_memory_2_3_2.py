"""RecNet 2.3.2: the filter memory's bounds."""

from hypothesis import given
from hypothesis import strategies as st

from propagation.model import MAX_RULES, FilterMemory, FilterRule
from propagation.model.clients.filter_memory import FACTOR_MAX, FACTOR_MIN
from propagation.reception.filter_memory import filter_messages
from tests.unit.parties import message

RULES = st.builds(
    lambda router, attribute, factor, evidence, age: FilterRule(
        router=router if attribute is None else None,
        attribute=attribute,
        factor=factor,
        text="Welcome it.",
        evidence=tuple(range(evidence)),
        age=age,
    ),
    st.integers(0, 20),
    st.none() | st.sampled_from("abcdefgh"),
    st.floats(0.01, 50),
    st.integers(0, 8),
    st.integers(0, 1000),
)


@given(st.lists(RULES, max_size=40))
def test_never_more_than_eight_rules_one_a_target_factors_bounded(rules):
    memory = FilterMemory()
    for rule in rules:
        memory = memory.with_rule(rule)
        assert memory.rules[-1].target == rule.target
    assert len(memory.rules) <= MAX_RULES
    assert len({rule.target for rule in memory.rules}) == len(memory.rules)
    assert all(FACTOR_MIN <= rule.factor <= FACTOR_MAX for rule in memory.rules)


@given(st.lists(RULES, max_size=12), st.integers(0, 20), st.frozensets(st.sampled_from("abcdefgh")))
def test_the_product_of_matching_rules_is_clipped(rules, router, attributes):
    memory = FilterMemory()
    for rule in rules:
        memory = memory.with_rule(rule)
    factor = memory.get_factor(router, attributes)
    assert FACTOR_MIN <= factor <= FACTOR_MAX
    assert isinstance(factor, float), "an integer would compile the kernels once more"
    held = {router: attributes, 3: frozenset("ab"), 4: frozenset("b")}
    assert memory.factors(21, held) == [
        memory.get_factor(one, held.get(one, frozenset())) for one in range(21)
    ]


def test_a_rule_about_a_router_from_before_a_bootstrap_does_not_count():
    memory = FilterMemory(
        (
            FilterRule(router=3, factor=0.8, text="a", age=6),
            FilterRule(router=4, factor=0.5, text="b", age=7),
            FilterRule(attribute="jazz", factor=1.25, text="c", age=1),
        )
    )
    assert [rule.text for rule in memory.since(7).rules] == ["b", "c"]
    assert memory.since(6) is memory
    assert memory.since(7).get_factor(3, frozenset(["jazz"])) == 1.25


def test_two_rules_that_match_one_message_multiply():
    memory = (
        FilterMemory()
        .with_rule(FilterRule(router=3, factor=0.8, text="a"))
        .with_rule(FilterRule(attribute="jazz", factor=1.25, text="b"))
    )
    assert memory.get_factor(3, frozenset(["jazz"])) == 1.0
    assert memory.get_factor(3, frozenset()) == 0.8
    assert memory.get_factor(4, frozenset()) == 1.0


def test_messages_below_a_half_stay_out_and_the_others_come_by_factor():
    memory = FilterMemory(
        rules=(
            FilterRule(router=1, factor=0.4, text="Out."),
            FilterRule(router=3, factor=2.0, text="First."),
        )
    )
    admitted, refused = filter_messages(memory, [message(router, "jazz") for router in (1, 2, 3)])
    assert [one.router for one in admitted] == [3, 2]
    assert [one.router for one in refused] == [1]
