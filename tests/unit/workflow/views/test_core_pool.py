"""A kernel runs once for each block, with any number of threads."""

import time

import numpy as np
import pytest

from propagation.workflow.views.numbers_owner import MIN_BLOCKS, CorePool


@pytest.mark.parametrize("threads", [1, 2, 3, 4])
@pytest.mark.parametrize("blocks", [0, 1, 2 * MIN_BLOCKS - 1, 2 * MIN_BLOCKS, 1_000])
def test_each_block_once(threads, blocks):
    seen, cores = np.zeros(blocks, np.int64), CorePool(threads)

    def kernel(begin, end):
        seen[begin:end] += 1

    cores.run(blocks, kernel)
    cores.close()
    assert (seen == 1).all()


def test_what_a_part_raises_is_raised_when_all_are_done():
    ended, cores = [], CorePool(2)

    def kernel(begin, end):
        ended.append(begin)
        if begin:
            raise ValueError("this one")

    with pytest.raises(ValueError, match="this one"):
        cores.run(2 * MIN_BLOCKS, kernel)
    cores.close()
    assert sorted(ended) == [0, MIN_BLOCKS]


def test_no_part_goes_on_after_one_failed():
    ended, cores = [], CorePool(4)

    def kernel(begin, end):
        if begin == MIN_BLOCKS:
            raise ValueError("this one")
        time.sleep(0.05 if begin else 0.0)
        ended.append(begin)

    with pytest.raises(ValueError, match="this one"):
        cores.run(4 * MIN_BLOCKS, kernel)
    assert sorted(ended) == [0, 2 * MIN_BLOCKS, 3 * MIN_BLOCKS]
    cores.close()
