"""The web page: how fast it is, and what its visitors cost."""
