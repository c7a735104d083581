// name: schema/0005_dropped
// purpose: what became of messages, by when: few are dropped, and analysts look for those
// parameters: none
CREATE INDEX merged_outcome IF NOT EXISTS FOR ()-[m:MERGED_INTO]-() ON (m.outcome, m.sequence);
