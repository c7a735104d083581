"""What the whole service uses: errors, clock, console, measurements.

This room knows no other one.
"""
