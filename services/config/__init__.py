"""Settings: their types, their sources, and cron lines."""
