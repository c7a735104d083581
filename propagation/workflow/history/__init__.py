"""Reading profiles, traces, past states and the stream of changes."""
