"""Groups, sums and batches."""

from hypothesis import given
from hypothesis import strategies as st

from propagation.grouping import group_pairs, keep_first, split_into_batches, sum_pairs

PAIRS = st.lists(st.tuples(st.sampled_from("abc"), st.integers(-5, 5)))


def test_groups_and_sums_keep_the_order_of_keys():
    pairs = [("b", 1), ("a", 2), ("b", 3)]
    assert list(group_pairs(pairs).items()) == [("b", [1, 3]), ("a", [2])]
    assert list(sum_pairs(pairs).items()) == [("b", 4), ("a", 2)]


@given(PAIRS)
def test_sums_are_those_of_the_groups(pairs):
    groups = group_pairs(pairs)
    assert sum_pairs(pairs) == {key: sum(numbers) for key, numbers in groups.items()}


@given(st.lists(st.integers()), st.integers(1, 5))
def test_batches_hold_every_value_in_order(values, size):
    batches = list(split_into_batches(values, size))
    assert [value for batch in batches for value in batch] == values
    assert all(0 < len(batch) <= size for batch in batches)


@given(PAIRS)
def test_the_first_value_of_each_key_is_kept(pairs):
    groups = group_pairs(pairs)
    assert list(keep_first(pairs).items()) == [(key, found[0]) for key, found in groups.items()]
