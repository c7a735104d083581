"""A scripted OpenAI-compatible server, which answers our prompts by a rule.

It can show the faults and habits of real servers.
"""
