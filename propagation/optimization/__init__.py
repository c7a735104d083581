"""Feedback-driven optimisation (RecNet 2.4): prediction, credit, clients, routers."""
