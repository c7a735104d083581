"""The record commit: clients, events, the log."""
