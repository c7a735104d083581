"""The service with a real small language model: `python -m tests.model`."""
