"""Visitors and what they read: sessions, connections, feeds, protection, reports."""
