"""`propagation lab`: experiments of the papers, on any data."""
