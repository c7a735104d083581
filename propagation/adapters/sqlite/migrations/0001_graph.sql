-- Schema 1: the graph. A released file is never edited: a change is the next number.
CREATE TABLE meta (name TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT;
CREATE TABLE progress (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT;
CREATE TABLE lease (name TEXT PRIMARY KEY, holder TEXT NOT NULL, token INTEGER NOT NULL, expires INTEGER NOT NULL) STRICT;

CREATE TABLE client (
  ref INTEGER PRIMARY KEY, kind INTEGER NOT NULL, id TEXT NOT NULL,
  title TEXT NOT NULL DEFAULT '', description TEXT NOT NULL DEFAULT '',
  attributes TEXT NOT NULL DEFAULT '[]', categories TEXT NOT NULL DEFAULT '[]',
  hidden INTEGER NOT NULL DEFAULT 0, metadata TEXT NOT NULL DEFAULT '{}', sequence INTEGER NOT NULL,
  UNIQUE (kind, id)) STRICT;

CREATE TABLE log (
  sequence INTEGER PRIMARY KEY, kind TEXT NOT NULL, refs TEXT NOT NULL, number INTEGER NOT NULL,
  at INTEGER NOT NULL) STRICT;

CREATE TABLE interaction (
  sequence INTEGER PRIMARY KEY, event_id TEXT NOT NULL UNIQUE, content_hash TEXT NOT NULL,
  user INTEGER NOT NULL, item INTEGER NOT NULL, negative INTEGER, time INTEGER NOT NULL, weight REAL NOT NULL,
  seed INTEGER NOT NULL, at INTEGER NOT NULL, metadata TEXT) STRICT;
CREATE INDEX interaction_user ON interaction (user);
CREATE INDEX interaction_item ON interaction (item);

-- Learn: columns of whole blocks, permanent; increments of trust until a checkpoint covers them.
CREATE TABLE learned (
  through INTEGER PRIMARY KEY, epoch INTEGER NOT NULL, size INTEGER NOT NULL, columns BLOB NOT NULL) STRICT;
CREATE TABLE trust_delta (through INTEGER PRIMARY KEY, trust BLOB NOT NULL, combiner BLOB NOT NULL) STRICT;
CREATE TABLE staged_learned (
  through INTEGER PRIMARY KEY, epoch INTEGER NOT NULL, size INTEGER NOT NULL, columns BLOB NOT NULL) STRICT;
CREATE TABLE checkpoint (
  id INTEGER PRIMARY KEY, sequence INTEGER NOT NULL, epoch INTEGER NOT NULL, barrier INTEGER NOT NULL,
  complete INTEGER NOT NULL DEFAULT 0) STRICT;
CREATE TABLE checkpoint_part (
  checkpoint INTEGER NOT NULL, name TEXT NOT NULL, part INTEGER NOT NULL, dtype TEXT NOT NULL, shape TEXT NOT NULL,
  data BLOB NOT NULL, PRIMARY KEY (checkpoint, name, part)) STRICT;
CREATE TABLE epoch (
  number INTEGER PRIMARY KEY, sequence INTEGER NOT NULL, session_k INTEGER NOT NULL, taste_k INTEGER NOT NULL,
  tau REAL, embedder TEXT NOT NULL) STRICT;
CREATE TABLE evolved_into (
  run INTEGER NOT NULL, before INTEGER NOT NULL, after INTEGER NOT NULL, kind TEXT NOT NULL) STRICT;
CREATE TABLE evolution_run (
  run INTEGER PRIMARY KEY, sequence INTEGER NOT NULL, published INTEGER NOT NULL, report TEXT NOT NULL) STRICT;

-- Reason.
CREATE TABLE claim (token INTEGER PRIMARY KEY, worker TEXT NOT NULL, expires INTEGER NOT NULL, work TEXT NOT NULL) STRICT;
CREATE TABLE reasoned (sequence INTEGER PRIMARY KEY, user INTEGER NOT NULL, reward INTEGER) STRICT;
CREATE TABLE dead_letter (sequence INTEGER PRIMARY KEY, reason TEXT NOT NULL) STRICT;
CREATE TABLE profile_version (
  ref INTEGER NOT NULL, version INTEGER NOT NULL, sequence INTEGER NOT NULL, next_id INTEGER NOT NULL, lines TEXT NOT NULL,
  rules TEXT NOT NULL, watermark INTEGER NOT NULL, dropped INTEGER NOT NULL, at INTEGER NOT NULL) STRICT;
CREATE UNIQUE INDEX profile_version_ref ON profile_version (ref, version);
CREATE INDEX profile_version_sequence ON profile_version (sequence, ref);
CREATE TABLE gradient (
  sequence INTEGER NOT NULL, module TEXT NOT NULL, owner INTEGER NOT NULL, writer INTEGER NOT NULL,
  reward INTEGER NOT NULL, text TEXT NOT NULL, attributes TEXT NOT NULL) STRICT;
CREATE INDEX gradient_owner ON gradient (module, owner, sequence);
CREATE INDEX gradient_sequence ON gradient (sequence);
CREATE TABLE merged (
  ref INTEGER NOT NULL, profile_version INTEGER NOT NULL, router INTEGER NOT NULL, router_version INTEGER NOT NULL,
  outcome TEXT NOT NULL, sequence INTEGER NOT NULL) STRICT;
CREATE INDEX merged_ref ON merged (ref, profile_version);
CREATE INDEX merged_message ON merged (router, router_version);

-- Rounds: rows of a round above progress.round are invisible.
CREATE TABLE round (
  number INTEGER PRIMARY KEY, boundary INTEGER NOT NULL, sequence INTEGER NOT NULL, changed INTEGER NOT NULL,
  touched INTEGER NOT NULL, edges_opened INTEGER NOT NULL, edges_closed INTEGER NOT NULL, reached INTEGER NOT NULL) STRICT;
CREATE TABLE attribute (name TEXT PRIMARY KEY, router INTEGER, holders INTEGER NOT NULL) STRICT;
CREATE TABLE held (ref INTEGER PRIMARY KEY, names TEXT NOT NULL) STRICT;
CREATE TABLE staged_attribute (name TEXT PRIMARY KEY, router INTEGER, holders INTEGER NOT NULL) STRICT;
CREATE TABLE staged_held (ref INTEGER PRIMARY KEY, names TEXT NOT NULL) STRICT;
CREATE TABLE router_version (
  router INTEGER NOT NULL, version INTEGER NOT NULL, round INTEGER NOT NULL, epoch INTEGER NOT NULL, name TEXT NOT NULL,
  text TEXT NOT NULL, attributes TEXT NOT NULL, standing TEXT NOT NULL, PRIMARY KEY (router, version)) STRICT;
CREATE INDEX router_version_round ON router_version (round);
CREATE TABLE integrated (
  router INTEGER NOT NULL, version INTEGER NOT NULL, attribute TEXT NOT NULL, ref INTEGER NOT NULL,
  profile_version INTEGER NOT NULL, sequence INTEGER NOT NULL) STRICT;
CREATE INDEX integrated_message ON integrated (router, version);
CREATE INDEX integrated_ref ON integrated (ref);
CREATE TABLE edge (
  router INTEGER NOT NULL, ref INTEGER NOT NULL, score REAL NOT NULL, opened INTEGER NOT NULL, closed INTEGER) STRICT;
CREATE INDEX edge_ref ON edge (ref, closed);
CREATE INDEX edge_router ON edge (router, closed);
CREATE INDEX edge_opened ON edge (opened);
CREATE INDEX edge_closed ON edge (closed);

-- The vector index's points: derived, versioned.
CREATE TABLE point (
  collection TEXT NOT NULL, key TEXT NOT NULL, version INTEGER NOT NULL, vector BLOB NOT NULL, attributes TEXT NOT NULL,
  PRIMARY KEY (collection, key)) STRICT;
