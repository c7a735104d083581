"""The laboratory's methods, built from settings, and its page."""
