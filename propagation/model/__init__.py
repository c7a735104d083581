"""The vocabulary: one file a term, all of it immutable."""
