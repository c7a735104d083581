"""The fast tests on other Pythons of this machine: `python -m tests.versions`."""
