-- Schema 8: the outbox, changes on their way to the vector index; keys as JSON, as in `point`.
CREATE TABLE outbox (
  collection TEXT NOT NULL, key TEXT NOT NULL, round INTEGER NOT NULL, version INTEGER NOT NULL, at INTEGER NOT NULL,
  PRIMARY KEY (collection, key, round)) STRICT, WITHOUT ROWID;
CREATE TABLE staged_outbox (
  collection TEXT NOT NULL, key TEXT NOT NULL, version INTEGER NOT NULL, PRIMARY KEY (collection, key)) STRICT, WITHOUT ROWID;
