"""The log, clients and events."""
