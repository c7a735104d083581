"""An earlier checkpoint and a patch of changed rows.

Together they equal a whole checkpoint, bit for bit.
"""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from propagation.workflow.learn.checkpoints import apply_patch, make_patch


@given(st.integers(0, 1 << 30), st.integers(0, 12), st.integers(0, 4), st.floats(0, 1))
def test_what_was_written_and_what_changed_since_are_the_whole(seed, size, more, share):
    draw = np.random.default_rng(seed)
    before = {
        "sums": draw.random((size, 3), np.float32),
        "clock": np.arange(4),
        "flags": draw.random(size) < 0.5,
        "near_items": draw.integers(0, 9, 3 * size, np.int32),
    }
    before["sums"][draw.random((size, 3)) < 0.2] = np.nan
    sums = np.concatenate([before["sums"], draw.random((more, 3), np.float32)])
    sums[draw.random(len(sums)) < share, 0] = -0.0
    now = {
        "sums": sums,
        "clock": np.arange(4) + 7,
        "flags": np.concatenate([before["flags"], np.ones(more, np.bool_)]),
        "near_items": draw.integers(0, 9, int(draw.integers(0, 6 * size + 1)), np.int32),
        "taste.mass": draw.random((3, 2)),
    }
    patch = make_patch(before, now)
    found = apply_patch({name: array.copy() for name, array in (before | patch).items()})
    assert found.keys() == now.keys()
    for name, array in now.items():
        assert found[name].dtype == array.dtype
        assert found[name].tobytes() == array.tobytes(), name


def test_little_is_written_where_little_changed():
    before = {"mass": np.zeros((100, 5), np.float32), "trust": np.ones((100, 5), np.float32)}
    now = {name: array.copy() for name, array in before.items()}
    now["mass"][7, 2] = 1
    patch = make_patch(before, now)
    assert {name: array.tolist() for name, array in patch.items()} == {
        "mass@rows": [7],
        "mass@values": [[0, 0, 1, 0, 0]],
    }


def test_a_checkpoint_that_was_not_patched_is_as_it_is():
    arrays = {"mass": np.ones((2, 2)), "near_items": np.arange(3, dtype=np.int32)}
    assert all(found is arrays[name] for name, found in apply_patch(dict(arrays)).items())
