"""The fast tests on the oldest and the newest Python that is here: `python -m tests.versions`."""
