"""What callers can infer about one user."""
