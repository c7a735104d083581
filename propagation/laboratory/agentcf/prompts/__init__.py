"""AgentCF's prompts: what they say, and how their answers are read."""
