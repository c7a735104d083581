"""A scripted OpenAI-compatible server, which answers our prompts by a rule.

It has faults and habits.
"""
