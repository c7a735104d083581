"""Who may reach the service: TLS, tokens with roles, and limits a client."""
