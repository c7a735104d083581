-- Schema 2: what a replay and retention need.

-- What a client was before a change, until the sequence of that change: a replay reads clients as learn read them.
CREATE TABLE client_before (
  ref INTEGER NOT NULL, until INTEGER NOT NULL, title TEXT NOT NULL, description TEXT NOT NULL, attributes TEXT NOT NULL,
  categories TEXT NOT NULL, hidden INTEGER NOT NULL, metadata TEXT NOT NULL, sequence INTEGER NOT NULL,
  PRIMARY KEY (ref, until)) STRICT, WITHOUT ROWID;

-- A block says after which sequence it starts, so that a gap shows.
ALTER TABLE learned ADD COLUMN start INTEGER NOT NULL DEFAULT 0;
UPDATE learned SET start = coalesce((SELECT max(b.through) FROM learned b WHERE b.through < learned.through), 0);
ALTER TABLE staged_learned ADD COLUMN start INTEGER NOT NULL DEFAULT 0;

-- A message's first part of each of at most two senders: reception asks only whether it came from its receiver alone.
ALTER TABLE router_version ADD COLUMN senders TEXT NOT NULL DEFAULT '[]';
UPDATE router_version SET senders = coalesce((
  SELECT json_group_array(json_array(attribute, ref, profile_version, sequence)) FROM (
    SELECT attribute, ref, profile_version, sequence FROM integrated i
    WHERE i.router = router_version.router AND i.version = router_version.version GROUP BY ref ORDER BY min(i.rowid) LIMIT 2)), '[]');
CREATE INDEX router_version_of_round ON router_version (router, round);
