"""Tools of the whole service: errors, clock, console, measurements.

This room knows no other one.
"""
