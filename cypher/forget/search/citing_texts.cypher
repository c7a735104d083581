// name: forget/search/citing_texts
// purpose: the versions of texts that a search covers and that cite one of its sources: ref, version, whether it is the current one
// parameters: searches
UNWIND $searches AS search
CALL (search) {
  OPTIONAL MATCH (i:Interaction {sequence: search.at})
  WITH search, coalesce(i.reasoned, search.at) AS at
  OPTIONAL MATCH (w:ProfileVersion)
  WHERE w.sequence = at AND w.ref = search.ref
  WITH min(w.version) AS written
  RETURN written
}
WITH search, CASE WHEN search.at IS NULL THEN coalesce(search.version, 0) ELSE written END AS first
MATCH (p:ProfileVersion)
WHERE p.ref = search.ref AND p.version >= first
  AND (search.all
    OR any(sequence IN p.source_sequences WHERE sequence IN search.sequences)
    OR p.rules IS NOT NULL AND any(sequence IN search.sequences WHERE p.rules CONTAINS toString(sequence))
    OR any(place IN range(0, size(p.source_routers) - 1)
           WHERE p.source_routers[place] >= 0 AND [p.source_routers[place], p.source_versions[place]] IN search.messages)
    OR any(word IN search.words WHERE any(text IN p.line_texts WHERE text CONTAINS word) OR any(name IN p.attributes WHERE name CONTAINS word))
    OR any(word IN search.escaped WHERE p.rules CONTAINS word))
WITH DISTINCT p
RETURN p.ref, p.version, EXISTS { MATCH (c:Client {ref: p.ref}) WHERE c.version = p.version }
