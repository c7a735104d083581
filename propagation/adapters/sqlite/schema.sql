-- The tables of the graph in one SQLite file. A released version of this file is never edited: a
-- change is the next entry of MIGRATIONS in connection/schema.py, and is made here too.

-- Small values by name: blobs, counters and leases. `texts` counts the versions of texts that were
-- ever written, `texts_forgotten` those of clients that were forgotten since; a file of an earlier
-- state of this release lacks the second.
CREATE TABLE meta (name TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT;
CREATE TABLE progress (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT;
CREATE TABLE lease (
  name TEXT PRIMARY KEY, holder TEXT NOT NULL, token INTEGER NOT NULL, expires INTEGER NOT NULL
) STRICT;

-- Record: clients, what they were before a change (for replays), and the log. No index holds an id:
-- clients are found in memory, events by the seed that is drawn from their id. `only_in_events`: an
-- event created the client, and no upsert ever named it.
CREATE TABLE client (
  ref INTEGER PRIMARY KEY, kind INTEGER NOT NULL, id TEXT NOT NULL,
  title TEXT NOT NULL DEFAULT '', description TEXT NOT NULL DEFAULT '',
  attributes TEXT NOT NULL DEFAULT '[]', categories TEXT NOT NULL DEFAULT '[]',
  hidden INTEGER NOT NULL DEFAULT 0, metadata TEXT NOT NULL DEFAULT '{}',
  sequence INTEGER NOT NULL, only_in_events INTEGER NOT NULL DEFAULT 0
) STRICT;
-- The words by which present clients are found (graph_rules/search_words.py). It follows from
-- `client`, so an export leaves it out. The kind is the lowest bit of `ref`. The fact `search_words`
-- in `meta` is the version of the rules that made them.
CREATE TABLE client_word (
  kind INTEGER NOT NULL, word TEXT NOT NULL, ref INTEGER NOT NULL, PRIMARY KEY (kind, word, ref)
) STRICT, WITHOUT ROWID;
CREATE TABLE client_before (
  ref INTEGER NOT NULL, until INTEGER NOT NULL, title TEXT NOT NULL, description TEXT NOT NULL,
  attributes TEXT NOT NULL, categories TEXT NOT NULL, hidden INTEGER NOT NULL,
  metadata TEXT NOT NULL, sequence INTEGER NOT NULL, PRIMARY KEY (ref, until)
) STRICT, WITHOUT ROWID;
CREATE TABLE log (
  sequence INTEGER PRIMARY KEY, kind TEXT NOT NULL, refs TEXT NOT NULL, number INTEGER NOT NULL,
  at INTEGER NOT NULL
) STRICT;
-- Entries of the kind `clients` may be as many as clients; few others are looked for.
CREATE INDEX log_operation ON log (sequence) WHERE kind <> 'clients';
CREATE TABLE interaction (
  sequence INTEGER PRIMARY KEY, event_id TEXT NOT NULL, content_hash TEXT NOT NULL,
  user INTEGER NOT NULL, item INTEGER NOT NULL, negative INTEGER, time INTEGER NOT NULL,
  weight REAL NOT NULL, seed INTEGER NOT NULL, at INTEGER NOT NULL, metadata TEXT
) STRICT;
CREATE INDEX interaction_seed ON interaction (seed);
CREATE INDEX interaction_user ON interaction (user);
CREATE INDEX interaction_item ON interaction (item);
CREATE INDEX interaction_negative ON interaction (negative) WHERE negative IS NOT NULL;

-- Retracted events keep id and content hash, so that a repeat is a duplicate. Forgotten event ids
-- are keyed hashes. A vacant sequence had an interaction that was withdrawn; `learned` says whether
-- it has an empty row in a learned block.
CREATE TABLE retracted (
  sequence INTEGER PRIMARY KEY, event_id TEXT NOT NULL, content_hash TEXT NOT NULL,
  seed INTEGER NOT NULL, user INTEGER NOT NULL, item INTEGER NOT NULL
) STRICT;
CREATE INDEX retracted_seed ON retracted (seed);
CREATE INDEX retracted_user ON retracted (user);
CREATE INDEX retracted_item ON retracted (item);
CREATE TABLE forgotten (event BLOB PRIMARY KEY) STRICT, WITHOUT ROWID;
CREATE TABLE vacant (sequence INTEGER PRIMARY KEY, learned INTEGER NOT NULL) STRICT;

-- Learn: the columns of learned blocks, trust since the newest checkpoint, and checkpoints.
CREATE TABLE learned (
  through INTEGER PRIMARY KEY, epoch INTEGER NOT NULL, size INTEGER NOT NULL,
  columns BLOB NOT NULL, start INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE TABLE trust_delta (
  through INTEGER PRIMARY KEY, trust BLOB NOT NULL, combiner BLOB NOT NULL
) STRICT;
CREATE TABLE staged_learned (
  through INTEGER PRIMARY KEY, epoch INTEGER NOT NULL, size INTEGER NOT NULL,
  columns BLOB NOT NULL, start INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE TABLE checkpoint (
  id INTEGER PRIMARY KEY, sequence INTEGER NOT NULL, epoch INTEGER NOT NULL,
  barrier INTEGER NOT NULL, complete INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE TABLE checkpoint_part (
  checkpoint INTEGER NOT NULL, name TEXT NOT NULL, part INTEGER NOT NULL, dtype TEXT NOT NULL,
  shape TEXT NOT NULL, data BLOB NOT NULL, PRIMARY KEY (checkpoint, name, part)
) STRICT;
CREATE TABLE epoch (
  number INTEGER PRIMARY KEY, sequence INTEGER NOT NULL, session_k INTEGER NOT NULL,
  taste_k INTEGER NOT NULL, tau REAL, embedder TEXT NOT NULL, era INTEGER NOT NULL DEFAULT 0
) STRICT;

-- Evolution: lineage of routers, runs, and the maps through which older weights are read.
CREATE TABLE evolved_into (
  run INTEGER NOT NULL, before INTEGER NOT NULL, after INTEGER NOT NULL, kind TEXT NOT NULL
) STRICT;
CREATE INDEX evolved_into_run ON evolved_into (run);
CREATE TABLE evolution_run (
  run INTEGER PRIMARY KEY, sequence INTEGER NOT NULL, published INTEGER NOT NULL,
  report TEXT NOT NULL
) STRICT;
CREATE TABLE router_map (
  run INTEGER PRIMARY KEY, from_epoch INTEGER NOT NULL, to_epoch INTEGER NOT NULL,
  body BLOB NOT NULL
) STRICT;

-- Reason. The body of a profile version is its lines and filter rules, see adapters/shared/text_bodies.py.
-- `reasoned.late` is the sequence at which a dead letter was replayed. Merges are numbered in the
-- order of their commits.
CREATE TABLE claim (
  token INTEGER PRIMARY KEY, worker TEXT NOT NULL, expires INTEGER NOT NULL, work TEXT NOT NULL
) STRICT;
CREATE TABLE reasoned (
  sequence INTEGER PRIMARY KEY, user INTEGER NOT NULL, reward INTEGER, late INTEGER, prompts TEXT,
  fallback TEXT
) STRICT;
CREATE INDEX reasoned_late ON reasoned (late) WHERE late IS NOT NULL;
-- What a model was asked last and answered (`asked`, `answered`) is dropped at each withdrawal.
CREATE TABLE dead_letter (
  sequence INTEGER PRIMARY KEY, reason TEXT NOT NULL, attempts INTEGER NOT NULL DEFAULT 0,
  failed_at INTEGER NOT NULL DEFAULT 0, asked TEXT NOT NULL DEFAULT '',
  answered TEXT NOT NULL DEFAULT '', queued INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX dead_letter_queued ON dead_letter (sequence) WHERE queued;
-- `rewritten` has bits: 1, a withdrawal changed the content; 2, see FOLLOWS_GAP in reason/texts.py.
CREATE TABLE profile_version (
  ref INTEGER NOT NULL, version INTEGER NOT NULL, sequence INTEGER NOT NULL,
  next_id INTEGER NOT NULL, body BLOB NOT NULL, watermark INTEGER NOT NULL,
  dropped INTEGER NOT NULL, at INTEGER NOT NULL, written_by TEXT,
  rewritten INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE UNIQUE INDEX profile_version_ref ON profile_version (ref, version);
CREATE INDEX profile_version_sequence ON profile_version (sequence, ref);
CREATE TABLE gradient (
  sequence INTEGER NOT NULL, module TEXT NOT NULL, owner INTEGER NOT NULL,
  writer INTEGER NOT NULL, reward INTEGER NOT NULL, text TEXT NOT NULL, attributes TEXT NOT NULL,
  epoch INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX gradient_owner ON gradient (module, owner, sequence);
CREATE INDEX gradient_sequence ON gradient (sequence);
CREATE TABLE merged (
  number INTEGER PRIMARY KEY, ref INTEGER NOT NULL, profile_version INTEGER NOT NULL,
  router INTEGER NOT NULL, router_version INTEGER NOT NULL, outcome TEXT NOT NULL,
  sequence INTEGER NOT NULL
) STRICT;
CREATE INDEX merged_ref ON merged (ref, profile_version);
CREATE INDEX merged_message ON merged (router, router_version);
CREATE INDEX merged_sequence ON merged (sequence);

-- Rounds: rows of a round above the newest one in `round` are invisible. `senders` holds a part of
-- each of at most two senders, `lone` the only sender. Edges that ended are in edge_past, so that a
-- round rewrites few pages.
CREATE TABLE round (
  number INTEGER PRIMARY KEY, boundary INTEGER NOT NULL, sequence INTEGER NOT NULL,
  changed INTEGER NOT NULL, touched INTEGER NOT NULL, edges_opened INTEGER NOT NULL,
  edges_closed INTEGER NOT NULL, reached INTEGER NOT NULL
) STRICT;
CREATE TABLE attribute (
  name TEXT PRIMARY KEY, router INTEGER, holders INTEGER NOT NULL, users INTEGER NOT NULL,
  canonical TEXT
) STRICT;
CREATE TABLE held (ref INTEGER PRIMARY KEY, names TEXT NOT NULL) STRICT;
CREATE TABLE staged_attribute (
  name TEXT PRIMARY KEY, router INTEGER, holders INTEGER NOT NULL, users INTEGER NOT NULL,
  canonical TEXT
) STRICT;
CREATE TABLE staged_held (ref INTEGER PRIMARY KEY, names TEXT NOT NULL) STRICT;
CREATE TABLE router_version (
  router INTEGER NOT NULL, version INTEGER NOT NULL, round INTEGER NOT NULL,
  epoch INTEGER NOT NULL, name TEXT NOT NULL, text TEXT NOT NULL, attributes TEXT NOT NULL,
  standing TEXT NOT NULL, senders TEXT NOT NULL DEFAULT '[]', lone INTEGER, written_by TEXT,
  PRIMARY KEY (router, version)
) STRICT;
CREATE INDEX router_version_round ON router_version (round);
CREATE INDEX router_version_of_round ON router_version (router, round, version, lone);
CREATE TABLE integrated (
  router INTEGER NOT NULL, version INTEGER NOT NULL, attribute TEXT NOT NULL,
  ref INTEGER NOT NULL, profile_version INTEGER NOT NULL, sequence INTEGER NOT NULL
) STRICT;
CREATE INDEX integrated_message ON integrated (router, version, ref);
CREATE INDEX integrated_text ON integrated (ref, profile_version);
CREATE TABLE edge (
  router INTEGER NOT NULL, ref INTEGER NOT NULL, score REAL NOT NULL, opened INTEGER NOT NULL,
  PRIMARY KEY (ref, router)
) STRICT, WITHOUT ROWID;
CREATE INDEX edge_router ON edge (router);
CREATE TABLE edge_past (
  router INTEGER NOT NULL, ref INTEGER NOT NULL, score REAL NOT NULL, opened INTEGER NOT NULL,
  closed INTEGER NOT NULL
) STRICT;
CREATE INDEX edge_past_ref ON edge_past (ref, closed);
CREATE INDEX edge_past_closed ON edge_past (closed);
CREATE VIEW edge_ever (router, ref, score, opened, closed) AS
  SELECT router, ref, score, opened, NULL FROM edge
  UNION ALL SELECT router, ref, score, opened, closed FROM edge_past;

-- The vector index: its points, and the changes on their way to it.
CREATE TABLE point (
  collection TEXT NOT NULL, key TEXT NOT NULL, version INTEGER NOT NULL, vector BLOB NOT NULL,
  attributes TEXT NOT NULL, PRIMARY KEY (collection, key)
) STRICT;
CREATE TABLE outbox (
  collection TEXT NOT NULL, key TEXT NOT NULL, round INTEGER NOT NULL, version INTEGER NOT NULL,
  at INTEGER NOT NULL, PRIMARY KEY (collection, key, round)
) STRICT, WITHOUT ROWID;
CREATE TABLE staged_outbox (
  collection TEXT NOT NULL, key TEXT NOT NULL, version INTEGER NOT NULL,
  PRIMARY KEY (collection, key)
) STRICT, WITHOUT ROWID;
