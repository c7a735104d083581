// name: maintenance/check/log/unpublished_entries
// purpose: entries of the log whose round, epoch or evolution run is missing: [sequence, kind, number]
// parameters: limit
// scans: LogEntry, a check looks at every one
MATCH (e:LogEntry)
WHERE (e.kind = 'round' AND NOT EXISTS { MATCH (d:Round) WHERE d.number = e.number })
   OR (e.kind = 'bootstrap' AND NOT EXISTS { MATCH (d:Epoch) WHERE d.number = e.number })
   OR (e.kind = 'evolution' AND NOT EXISTS { MATCH (d:EvolutionRun) WHERE d.run = e.number })
RETURN e.sequence, e.kind, e.number LIMIT $limit
