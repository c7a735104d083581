"""Datasets in one small form: MovieLens, RecBole atomic files, JSON Lines, a catalogue alone, and
the generated town."""
