"""The handlers of the calls, one file a topic."""
