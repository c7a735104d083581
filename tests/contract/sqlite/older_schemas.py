"""SQL that turns a new database into one of an older schema."""

TO_SCHEMA_3 = """
DROP INDEX dead_letter_queued;
ALTER TABLE dead_letter DROP COLUMN attempts;
ALTER TABLE dead_letter DROP COLUMN failed_at;
ALTER TABLE dead_letter DROP COLUMN asked;
ALTER TABLE dead_letter DROP COLUMN answered;
ALTER TABLE dead_letter DROP COLUMN queued;
PRAGMA user_version = 3;
"""
