"""Views that a process holds in memory, fed by the log."""
