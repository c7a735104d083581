"""What numba compiles for an evaluation, and the constants that it is compiled with."""
