"""Commands of operators: run, back up, check, evolve and forget."""
