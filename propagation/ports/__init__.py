"""What the workflow needs of the world. Every call that may reach a network is async."""
