"""The consistency check, and the sweep that deletes in batches."""
