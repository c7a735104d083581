"""The views, a file for each topic of the navigation."""
