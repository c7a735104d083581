// name: maintenance/check/log/log_faults
// purpose: how many entries the log lacks, how many it has too many, where learn is if it has passed the log, where reason is if it has passed learn, how many versions of texts are missing, and how many merges; each is null if it is sound
// parameters: none
// scans: Client, the versions of each one's text are added up
MATCH (log:Progress {name: 'log'})
WITH log.sequence AS recorded, COUNT { MATCH (:Interaction) } + COUNT { MATCH (:LogEntry) } + COUNT { MATCH (:Vacant) } AS entries,
  coalesce(head(COLLECT { MATCH (b:LearnedBlock) WHERE b.through > 0 RETURN b.through ORDER BY b.through DESC LIMIT 1 }), 0) AS learned,
  head(COLLECT { MATCH (p:Progress {name: 'reason'}) RETURN p.through }) AS reasoned,
  head(COLLECT { MATCH (p:Progress {name: 'texts'}) RETURN p.texts }) - head(COLLECT { MATCH (c:Client) RETURN sum(c.version) }) AS texts,
  head(COLLECT { MATCH (p:Progress {name: 'texts'}) RETURN p.merges }) - COUNT { MATCH ()-[:MERGED_INTO]->() } AS merges,
  coalesce(head(COLLECT { MATCH (p:Progress {name: 'forgetting'}) RETURN p.sequence }), 0) = 0 AS nothing_withdrawn,
  coalesce(head(COLLECT { MATCH (p:Progress {name: 'retention'}) RETURN p.oldest }), 0) = 0 AS all_kept
RETURN CASE WHEN entries < recorded THEN recorded - entries END AS lacking, CASE WHEN entries > recorded THEN entries - recorded END AS surplus,
  CASE WHEN learned > recorded THEN learned END AS learned_beyond, CASE WHEN reasoned > learned THEN reasoned END AS reasoned_beyond,
  CASE WHEN texts > 0 AND nothing_withdrawn THEN texts END AS lost_texts,
  CASE WHEN merges > 0 AND nothing_withdrawn AND all_kept THEN merges END AS lost_merges
