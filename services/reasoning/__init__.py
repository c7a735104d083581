"""The child process in which the offline reasoner drafts texts.

The service answers calls meanwhile.
"""
