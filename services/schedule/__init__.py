"""Jobs by the calendar, each run once when due, across stops, clock changes and replicas."""
