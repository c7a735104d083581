"""Clients with their profiles, filter memories, attributes and gradients."""
