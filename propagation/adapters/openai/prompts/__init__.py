"""RecNet's prompts, one a file, each beside the model of its answer. A change of wording is a new
version."""
