// Where does a line of a profile come from?
// The line of the client's current profile, what it cites, and how it got there: the interaction that wrote it, or the message
// that was merged, with the profiles, attributes and interactions that the message was made of.
// client: user:ID or item:ID · line: a line's number, as `propagation profile` shows it
:params {client: 'user:u0', line: 1};

CALL () {
  MATCH (c:User {id: substring($client, 5)}) WHERE $client STARTS WITH 'user:' RETURN c
  UNION MATCH (c:Item {id: substring($client, 5)}) WHERE $client STARTS WITH 'item:' RETURN c
}
MATCH profile = (c)-[:SAYS]->(l:Line {id: $line})
WITH c, profile, l.text AS line,
     [sequence IN l.interactions[..13] | [sequence, null, null]]
     + [key IN l.messages[..12] | [null, toInteger(split(key, '.')[0]), toInteger(split(key, '.')[1])]] AS sources
UNWIND CASE WHEN sources = [] THEN [[null, null, null]] ELSE sources END AS source
WITH c, profile, line, source[0] AS cited, source[1] AS router, source[2] AS version
CALL (c, cited) {
  MATCH did = (:User)-[:DID]->(i:Interaction {sequence: cited})-[:WITH]->(:Item)
  OPTIONAL MATCH wrote = (i)-[:WROTE]->(:ProfileVersion {ref: c.ref})<-[:HAS]-(c)
  WITH collect(did) AS did, collect(wrote) AS wrote
  RETURN did + wrote AS by_interaction
}
CALL (c, router, version) {
  OPTIONAL MATCH sent = (:Router)-[:SENT]->(m:Message {router: router, version: version})
  OPTIONAL MATCH merged = (m)-[:MERGED_INTO]->(:ProfileVersion {ref: c.ref})<-[:HAS]-(c)
  WITH m, collect(DISTINCT sent) AS sent, collect(merged) AS merged
  WITH m, sent + merged AS message
  OPTIONAL MATCH (a:Attribute)-[t:INTEGRATED_INTO]->(m)
  WITH m, message, a, t LIMIT 25
  OPTIONAL MATCH (q:ProfileVersion {ref: t.ref, version: t.profile_version})
  USING INDEX q:ProfileVersion(ref, version)
  WITH m, message, a, t, q
  OPTIONAL MATCH brought = (q)-[:BROUGHT {router: m.router, version: m.version}]->(a)-[t]->(m)
  OPTIONAL MATCH did = (:User)-[:DID]->(:Interaction {sequence: t.sequence})-[:WROTE]->(q)
  WITH message, collect(DISTINCT brought) AS brought, collect(DISTINCT did) AS did
  RETURN message + brought + did AS by_message
}
RETURN line, [profile] + by_interaction + by_message AS paths
