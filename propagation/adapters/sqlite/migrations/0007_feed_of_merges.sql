-- Schema 7: merges are numbered in the order of their commits, from 1, by a counter: no number is given twice, whatever is dropped.
CREATE TABLE merged_7 (
  number INTEGER PRIMARY KEY, ref INTEGER NOT NULL, profile_version INTEGER NOT NULL, router INTEGER NOT NULL,
  router_version INTEGER NOT NULL, outcome TEXT NOT NULL, sequence INTEGER NOT NULL) STRICT;
INSERT INTO merged_7 (ref, profile_version, router, router_version, outcome, sequence)
  SELECT ref, profile_version, router, router_version, outcome, sequence FROM merged ORDER BY rowid;
DROP TABLE merged;
ALTER TABLE merged_7 RENAME TO merged;
INSERT INTO progress SELECT 'merged', count(*) FROM merged HAVING count(*) > 0;
CREATE INDEX merged_ref ON merged (ref, profile_version);
CREATE INDEX merged_message ON merged (router, router_version);
