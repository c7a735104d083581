"""Jobs by the calendar, each run once when due.

This holds across stops of the service, changes of the clock, and replicas.
"""
