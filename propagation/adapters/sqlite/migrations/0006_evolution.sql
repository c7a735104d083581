-- Schema 6: evolution. The epoch of the bootstrap that each epoch descends from, the maps that stored weights are read through,
-- and the epoch whose router numbers a gradient speaks in.
ALTER TABLE epoch ADD COLUMN era INTEGER NOT NULL DEFAULT 0;
UPDATE epoch SET era = number;
ALTER TABLE gradient ADD COLUMN epoch INTEGER NOT NULL DEFAULT 0;
CREATE TABLE router_map (run INTEGER PRIMARY KEY, from_epoch INTEGER NOT NULL, to_epoch INTEGER NOT NULL, body BLOB NOT NULL) STRICT;
CREATE INDEX evolved_into_run ON evolved_into (run);
