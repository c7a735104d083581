"""Rules 1 to 5 of docs/numbers.md, and what they count."""
