"""Jobs by the calendar, each run once when due.

They survive stops, clock changes and replicas.
"""
