"""Routers with their messages, rounds, epochs and evolutions."""
