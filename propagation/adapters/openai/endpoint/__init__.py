"""The server of a model: its client, retries, limits and budgets."""
