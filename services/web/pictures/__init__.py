"""Drawings of the views, as SVG elements made from the proto's messages."""
