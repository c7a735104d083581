// name: maintenance/check/log/log_faults
// purpose: how many entries the log lacks, how many it has too many, where learn has passed it, where reason has passed learn; null where it is sound
// parameters: none
MATCH (log:Progress {name: 'log'})
WITH log.sequence AS recorded, COUNT { MATCH (:Interaction) } + COUNT { MATCH (:LogEntry) } + COUNT { MATCH (:Vacant) } AS entries,
  coalesce(head(COLLECT { MATCH (b:LearnedBlock) WHERE b.through > 0 RETURN b.through ORDER BY b.through DESC LIMIT 1 }), 0) AS learned,
  head(COLLECT { MATCH (p:Progress {name: 'reason'}) RETURN p.through }) AS reasoned
RETURN CASE WHEN entries < recorded THEN recorded - entries END AS lacking, CASE WHEN entries > recorded THEN entries - recorded END AS surplus,
  CASE WHEN learned > recorded THEN learned END AS learned_beyond, CASE WHEN reasoned > learned THEN reasoned END AS reasoned_beyond
