"""Reads: recommendations, explanations, similar clients and router communities."""
