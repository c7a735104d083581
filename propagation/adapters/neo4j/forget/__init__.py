"""Withdrawals, erasure, export and retention."""
