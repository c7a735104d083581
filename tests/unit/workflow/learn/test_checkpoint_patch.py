"""A checkpoint that was written before, and the rows that changed since: together what a whole one
would be, bit for bit."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from propagation.workflow.learn.checkpoints import apply_patch, make_patch

NEAR = ("near_items", "near_weights")


def neighbours(draw, counts):
    size = int(counts.sum())
    return {
        "neighbour_count": counts,
        "near_items": draw.integers(0, 9, size, np.int32),
        "near_weights": draw.random(size, np.float32),
    }


def rows_of(arrays):
    """Neighbours, item by item."""
    ends = np.cumsum(arrays["neighbour_count"])
    return [
        tuple(arrays[name][end - count : end] for name in NEAR)
        for end, count in zip(ends, arrays["neighbour_count"], strict=True)
    ]


def with_rows(rows):
    return {
        "neighbour_count": np.array([len(items) for items, _ in rows], np.int32),
        "near_items": np.concatenate([np.empty(0, np.int32), *(items for items, _ in rows)]),
        "near_weights": np.concatenate(
            [np.empty(0, np.float32), *(weights for _, weights in rows)]
        ),
    }


@given(st.integers(0, 1 << 30), st.integers(0, 12), st.integers(0, 4), st.floats(0, 1))
def test_what_was_written_and_what_changed_since_are_the_whole(seed, size, more, share):
    draw = np.random.default_rng(seed)
    before = {
        "sums": draw.random((size, 3), np.float32),
        "clock": np.arange(4),
        "flags": draw.random(size) < 0.5,
        **neighbours(draw, draw.integers(0, 4, size, np.int32)),
    }
    before["sums"][draw.random((size, 3)) < 0.2] = np.nan
    rows = rows_of(before)
    for item in np.flatnonzero(draw.random(size) < share):
        count = int(draw.integers(0, 4))
        rows[item] = draw.integers(0, 9, count, np.int32), draw.random(count, np.float32)
    rows += [(draw.integers(0, 9, 2, np.int32), draw.random(2, np.float32)) for _ in range(more)]
    sums = np.concatenate([before["sums"], draw.random((more, 3), np.float32)])
    sums[draw.random(len(sums)) < share, 0] = -0.0
    now = {
        "sums": sums,
        "clock": np.arange(4) + 7,
        "flags": np.concatenate([before["flags"], np.ones(more, np.bool_)]),
        **with_rows(rows),
        "taste.mass": draw.random((3, 2)),
    }
    patch = make_patch(before, now)
    found = apply_patch({name: array.copy() for name, array in (before | patch).items()})
    assert found.keys() == now.keys()
    for name, array in now.items():
        assert found[name].dtype == array.dtype
        assert found[name].tobytes() == array.tobytes(), name


def test_little_is_written_where_little_changed():
    before = {
        "mass": np.zeros((100, 5), np.float32),
        **neighbours(np.random.default_rng(1), np.full(100, 3, np.int32)),
    }
    now = {name: array.copy() for name, array in before.items()}
    now["mass"][7, 2] = 1
    now["near_weights"][7 * 3 + 1] = 9
    patch = make_patch(before, now)
    assert {name: array.tolist() for name, array in patch.items() if name.endswith("@rows")} == {
        "mass@rows": [7],
        "near@rows": [7],
    }
    assert sum(len(array) for array in patch.values()) == 2 + 1 + 2 * 3


def test_a_checkpoint_that_was_not_patched_is_as_it_is():
    arrays = {
        "mass": np.ones((2, 2)),
        **neighbours(np.random.default_rng(2), np.array([1, 2], np.int32)),
    }
    assert all(found is arrays[name] for name, found in apply_patch(dict(arrays)).items())
