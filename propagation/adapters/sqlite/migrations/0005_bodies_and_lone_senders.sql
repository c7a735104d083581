-- Schema 5: lines and rules of a profile version as one body of bytes, see bodies.py; what is there stays JSON, its first form.
CREATE TABLE profile_version_5 (
  ref INTEGER NOT NULL, version INTEGER NOT NULL, sequence INTEGER NOT NULL, next_id INTEGER NOT NULL, body BLOB NOT NULL,
  watermark INTEGER NOT NULL, dropped INTEGER NOT NULL, at INTEGER NOT NULL) STRICT;
INSERT INTO profile_version_5 (rowid, ref, version, sequence, next_id, body, watermark, dropped, at)
  SELECT rowid, ref, version, sequence, next_id, CAST('[' || lines || ',' || rules || ']' AS BLOB), watermark, dropped, at
  FROM profile_version;
DROP TABLE profile_version;
ALTER TABLE profile_version_5 RENAME TO profile_version;
CREATE UNIQUE INDEX profile_version_ref ON profile_version (ref, version);
CREATE INDEX profile_version_sequence ON profile_version (sequence, ref);

-- The client that a message comes from alone, which never receives it, where looking for what waits finds it.
ALTER TABLE router_version ADD COLUMN lone INTEGER;
UPDATE router_version SET lone = senders->0->>1 WHERE json_array_length(senders) = 1;
DROP INDEX router_version_of_round;
CREATE INDEX router_version_of_round ON router_version (router, round, version, lone);
