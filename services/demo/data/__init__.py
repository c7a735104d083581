"""The data of the demo: its script, its upload, its example and its story."""
