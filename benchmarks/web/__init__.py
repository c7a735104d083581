"""The web page: how fast its views are, and what its visitors cost the service."""
