"""Commands of researchers: evaluate, replay, import, demo."""
