"""Work on the database file as a whole: back-up, export, compaction, checks."""
