"""The seeded order in which candidates are shown, without the compiler that the kernels need: a
process that only reasons has none."""

WORD = (1 << 64) - 1


def mixed_word(value: int, seed: int) -> int:
    """SplitMix64's finaliser of value and seed, each in 0 .. 2**64 - 1: the same word as
    numbers/seeded_hash.py's."""
    z = (value + 0x9E3779B97F4A7C15 * (seed + 1)) & WORD
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & WORD
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & WORD
    return z ^ (z >> 31)
