// name: maintenance/check/log/unpublished_entries
// purpose: entries of the log whose round or epoch is missing: [sequence, kind, number]
// parameters: limit
// scans: LogEntry, a check looks at every one
MATCH (e:LogEntry)
WHERE (e.kind = 'round' AND NOT EXISTS { MATCH (d:Round) WHERE d.number = e.number })
   OR (e.kind IN ['bootstrap', 'evolution'] AND NOT EXISTS { MATCH (d:Epoch) WHERE d.number = e.number })
RETURN e.sequence, e.kind, e.number LIMIT $limit
