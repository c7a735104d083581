"""`propagation demo`: a real service on a temporary database, and what propagation does."""
