"""What the demo prints and draws."""
