"""Studies of interacting agents beyond users and items (AgentCF, section 4.4)."""
