"""The reason commit: claims, texts, dead letters."""
