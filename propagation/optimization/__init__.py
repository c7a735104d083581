"""RecNet 2.4, self-evolution: prediction (eq. 6, 7), credit assignment (eq. 8), client optimisation
(eq. 9)."""
