"""Implementations of the ports, one folder for each technology.

They translate and decide nothing; `tests/contract` defines what they must do.
"""
