"""The child process in which the offline reasoner drafts texts.

While the child drafts, the service can answer calls.
"""
