"""Translation that all graph stores share."""
