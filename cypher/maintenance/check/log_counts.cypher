// name: maintenance/check/log_counts
// purpose: how many entries the log holds, where it ends, where learn and reason are
// parameters: none
MATCH (log:Progress {name: 'log'})
WITH log, head(COLLECT { MATCH (p:Progress {name: 'reason'}) RETURN p.through }) AS reasoned
RETURN COUNT { MATCH (:Interaction) } + COUNT { MATCH (:LogEntry) } + COUNT { MATCH (:Vacant) } AS entries, log.sequence AS recorded,
  head(COLLECT { MATCH (b:LearnedBlock) WHERE b.through > 0 RETURN b.through ORDER BY b.through DESC LIMIT 1 }) AS learned,
  reasoned
