"""RecNet 2.2, centralised preference routing: perception (eq. 1, 2), integration (eq. 3), multicast
(eq. 4).

`policy.py` is the interface that `adoption`, `semantic` (the paper's eq. 2 and Score(R, c)),
`placebo` and `point_to_point` share; `clustering` and `centres` are stage 0 (2.2.1)."""
