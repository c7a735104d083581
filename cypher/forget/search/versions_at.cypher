// name: forget/search/versions_at
// purpose: the versions of clients' texts that were written at a sequence: [ref, sequence, the first or null, the last, whether the interaction was reasoned late, and if retention may have dropped some, the version after the last one that is not stored any more]
// parameters: keys
MATCH (kept:Progress {name: 'retention'})
UNWIND $keys AS key
OPTIONAL MATCH (i:Interaction {sequence: key[1]})
WHERE i.reasoned <> key[1]
WITH kept, key, count(i) > 0 AS late
OPTIONAL MATCH (p:ProfileVersion)
WHERE p.sequence = key[1] AND p.ref = key[0]
WITH key, late, min(p.version) AS first, max(p.version) AS last, key[1] <= kept.oldest AS old
CALL (key, old) {
  WITH key, old
  WHERE old
  MATCH (p:ProfileVersion)
  WHERE p.ref = key[0] AND p.version > 0 AND NOT EXISTS { MATCH (b:ProfileVersion {ref: p.ref, version: p.version - 1}) }
  RETURN max(p.version) AS after_gap
}
RETURN collect([key[0], key[1], first, last, late, after_gap])
