"""Jobs that run by the calendar: when they are due, and once each, whatever stops, clocks and
replicas do."""
