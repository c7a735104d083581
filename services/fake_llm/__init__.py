"""A scripted language model behind a real HTTP server: answers from a rule, and every habit that
real servers have."""
