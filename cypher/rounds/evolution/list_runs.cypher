// name: rounds/evolution/list_runs
// purpose: the reports of runs before a number, newest first
// parameters: before, limit
MATCH (e:EvolutionRun)
WHERE e.run > 0 AND e.run < $before
RETURN e.report ORDER BY e.run DESC LIMIT $limit
