"""Withdrawing interactions and erasing clients, in numbers and in texts."""
