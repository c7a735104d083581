"""What all prompts share: their data, and the types of their answers."""
