"""Conversion of the model's types to the proto's messages."""
