-- Schema 3: an attribute that was mapped to an existing one keeps whom it was mapped to.
ALTER TABLE attribute ADD COLUMN canonical TEXT;
ALTER TABLE staged_attribute ADD COLUMN canonical TEXT;
