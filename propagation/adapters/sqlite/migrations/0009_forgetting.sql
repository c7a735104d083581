-- Schema 9: what was taken back. An index over ids would keep copies of them in pages that were split (the moved half stays behind
-- in the unused middle of the old page), where no deletion finds them: clients are found in memory, events by what their ids seed.
CREATE TABLE client_named (
  ref INTEGER PRIMARY KEY, kind INTEGER NOT NULL, id TEXT NOT NULL,
  title TEXT NOT NULL DEFAULT '', description TEXT NOT NULL DEFAULT '',
  attributes TEXT NOT NULL DEFAULT '[]', categories TEXT NOT NULL DEFAULT '[]',
  hidden INTEGER NOT NULL DEFAULT 0, metadata TEXT NOT NULL DEFAULT '{}', sequence INTEGER NOT NULL) STRICT;
INSERT INTO client_named SELECT ref, kind, id, title, description, attributes, categories, hidden, metadata, sequence FROM client;
DROP TABLE client;
ALTER TABLE client_named RENAME TO client;

CREATE TABLE interaction_named (
  sequence INTEGER PRIMARY KEY, event_id TEXT NOT NULL, content_hash TEXT NOT NULL,
  user INTEGER NOT NULL, item INTEGER NOT NULL, negative INTEGER, time INTEGER NOT NULL, weight REAL NOT NULL,
  seed INTEGER NOT NULL, at INTEGER NOT NULL, metadata TEXT) STRICT;
INSERT INTO interaction_named SELECT sequence, event_id, content_hash, user, item, negative, time, weight, seed, at, metadata
  FROM interaction;
DROP TABLE interaction;
ALTER TABLE interaction_named RENAME TO interaction;
CREATE INDEX interaction_seed ON interaction (seed);
CREATE INDEX interaction_user ON interaction (user);
CREATE INDEX interaction_item ON interaction (item);
CREATE INDEX interaction_negative ON interaction (negative) WHERE negative IS NOT NULL;

-- Retracted: the id and the content hash stay, so that a repeat is still a repeat.
CREATE TABLE retracted (
  sequence INTEGER PRIMARY KEY, event_id TEXT NOT NULL, content_hash TEXT NOT NULL, seed INTEGER NOT NULL,
  user INTEGER NOT NULL, item INTEGER NOT NULL) STRICT;
CREATE INDEX retracted_seed ON retracted (seed);
CREATE INDEX retracted_user ON retracted (user);
CREATE INDEX retracted_item ON retracted (item);

-- Forgotten event ids, as keyed hashes; sequences whose interaction is gone (`learned`: its place in a learned block is empty).
CREATE TABLE forgotten (event BLOB PRIMARY KEY) STRICT, WITHOUT ROWID;
CREATE TABLE vacant (sequence INTEGER PRIMARY KEY, learned INTEGER NOT NULL) STRICT;
