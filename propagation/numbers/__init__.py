"""The numbers: lift, trust, mass and the combiner, compiled with numba.

Everything here is synchronous, deterministic and free of I/O. Only one thread at a time may change
a state.

Source: docs/numbers.md, rules 1 to 5.
"""
