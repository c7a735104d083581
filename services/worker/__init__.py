"""Background work: learning, reasoning, rounds and jobs, with priority for calls."""
