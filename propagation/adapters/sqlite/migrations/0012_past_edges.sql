-- Schema 12: edges that stand apart from those that ended: the first by client, so that a round rewrites few pages, the others
-- in the order in which they ended. What a round that was not published has done to them is discarded here.
DELETE FROM edge WHERE opened > (SELECT coalesce(max(number), 0) FROM round);
UPDATE edge SET closed = NULL WHERE closed > (SELECT coalesce(max(number), 0) FROM round);
CREATE TABLE edge_past (
  router INTEGER NOT NULL, ref INTEGER NOT NULL, score REAL NOT NULL, opened INTEGER NOT NULL, closed INTEGER NOT NULL) STRICT;
INSERT INTO edge_past (router, ref, score, opened, closed)
  SELECT router, ref, score, opened, closed FROM edge WHERE closed IS NOT NULL ORDER BY closed, ref, router;
CREATE TABLE edge_12 (
  router INTEGER NOT NULL, ref INTEGER NOT NULL, score REAL NOT NULL, opened INTEGER NOT NULL,
  PRIMARY KEY (ref, router)) STRICT, WITHOUT ROWID;
INSERT OR REPLACE INTO edge_12 (router, ref, score, opened)
  SELECT router, ref, score, opened FROM edge WHERE closed IS NULL ORDER BY ref, router, opened;
DROP TABLE edge;
ALTER TABLE edge_12 RENAME TO edge;
CREATE INDEX edge_router ON edge (router);
CREATE INDEX edge_past_ref ON edge_past (ref, closed);
CREATE INDEX edge_past_closed ON edge_past (closed);
CREATE VIEW edge_ever (router, ref, score, opened, closed) AS
  SELECT router, ref, score, opened, NULL FROM edge UNION ALL SELECT router, ref, score, opened, closed FROM edge_past;
