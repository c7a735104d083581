"""Evaluation: protocols, arms and controls, metrics, reports (docs/numbers.md, "Protocol")."""
