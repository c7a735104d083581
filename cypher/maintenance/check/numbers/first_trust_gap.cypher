// name: maintenance/check/numbers/first_trust_gap
// purpose: the first sequence whose increment of trust is missing although no checkpoint covers it
// parameters: limit
// scans: Checkpoint, of which there is one beside the barriers
OPTIONAL MATCH (c:Checkpoint)
WHERE c.complete
WITH coalesce(max(c.sequence), 0) AS covered
MATCH (b:LearnedBlock)
WHERE b.through > covered AND b.increments IS NULL
WITH min(b.through) AS gap
WHERE gap IS NOT NULL
RETURN gap LIMIT $limit
