"""Seeded 64-bit hash: the one source of arbitrary order and of draws."""

import numpy as np

from propagation.numbers.kernels import kernel


@kernel
def mix_seed(value, seed):
    """Return SplitMix64's finaliser of value and seed (both uint64)."""
    z = value + np.uint64(0x9E3779B97F4A7C15) * (seed + np.uint64(1))
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
