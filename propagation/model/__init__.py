"""The vocabulary: immutable types of clients, routers, interactions and errors."""
