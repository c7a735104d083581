"""Withdrawal, erasure, export and retention."""
