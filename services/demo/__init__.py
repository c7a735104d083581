"""`propagation demo`: the real service on a temporary database, a dataset through its API, and what
propagation did to it."""
