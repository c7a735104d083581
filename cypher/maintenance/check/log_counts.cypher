// name: maintenance/check/log_counts
// purpose: the number of log entries, the last sequence, and the sequences through which learn and reason have come
// parameters: none
MATCH (log:Progress {name: 'log'})
WITH log, head(COLLECT { MATCH (p:Progress {name: 'reason'}) RETURN p.through }) AS reasoned
RETURN COUNT { MATCH (:Interaction) } + COUNT { MATCH (:LogEntry) } + COUNT { MATCH (:Vacant) } AS entries, log.sequence AS recorded,
  head(COLLECT { MATCH (b:LearnedBlock) WHERE b.through > 0 RETURN b.through ORDER BY b.through DESC LIMIT 1 }) AS learned,
  reasoned
