"""The numbers: lift, trust, mass and the combiner (OFFLINE_ROUTING.md, rules 1 to 5), compiled with
numba.

Everything here is synchronous, deterministic and free of I/O; one thread at a time may change a
state."""
