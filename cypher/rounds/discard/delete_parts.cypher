// name: rounds/discard/delete_parts
// purpose: drop what messages that an unfinished round staged came from, some a call; how many parts
// parameters: last, limit
MATCH (m:Message)
WHERE m.round > $last
MATCH (m)<-[t:INTEGRATED_INTO]-()
WITH m, t LIMIT $limit
OPTIONAL MATCH (p:ProfileVersion {ref: t.ref, version: t.profile_version})-[b:BROUGHT {router: m.router, version: m.version}]->()
DELETE b, t
RETURN count(DISTINCT t)
