"""The child process in which the offline reasoner drafts texts while the service answers calls."""
