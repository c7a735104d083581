"""Access to the service: TLS, tokens with roles, and limits per client."""
