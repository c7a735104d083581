"""RecNet's prompts, one a file, each with the type of its answer.

A change of wording is a new version.
"""
