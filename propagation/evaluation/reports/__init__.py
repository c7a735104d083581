"""Reports of evaluations: figures, tables and pictures."""
