-- Schema 4: interactions whose dead letter was replayed, and the sequence that was recorded through then.
ALTER TABLE reasoned ADD COLUMN late INTEGER;
