"""Locks, leases, background tasks and caches that all rooms of the workflow use."""
