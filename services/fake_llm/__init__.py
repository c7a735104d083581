"""A scripted OpenAI-compatible server: it answers our prompts by a rule, with faults and habits."""
