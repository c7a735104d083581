// name: rounds/evolution/runs_at
// purpose: the reports of runs that were published at some sequences, oldest first
// parameters: sequences
MATCH (e:EvolutionRun)
WHERE e.run > 0 AND e.published AND e.sequence IN $sequences
RETURN e.report ORDER BY e.run
