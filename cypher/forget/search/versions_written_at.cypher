// name: forget/search/versions_written_at
// purpose: the versions of clients' texts that were written at a sequence: [ref, sequence, first version or null, last version or null, whether the interaction was reasoned late]
// parameters: keys
UNWIND $keys AS key
OPTIONAL MATCH (i:Interaction {sequence: key[1]})
WHERE i.reasoned <> key[1]
WITH key, count(i) > 0 AS late
OPTIONAL MATCH (p:ProfileVersion)
WHERE p.sequence = key[1] AND p.ref = key[0]
WITH key, late, min(p.version) AS first, max(p.version) AS last
RETURN collect([key[0], key[1], first, last, late])
