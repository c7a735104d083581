// name: rounds/discard/delete_parts
// purpose: delete a batch of parts of messages that an unfinished round staged; returns how many
// parameters: last, limit
MATCH (m:Message)
WHERE m.round > $last
MATCH (m)<-[t:INTEGRATED_INTO]-()
WITH m, t LIMIT $limit
OPTIONAL MATCH (p:ProfileVersion {ref: t.ref, version: t.profile_version})-[b:BROUGHT {router: m.router, version: m.version}]->()
DELETE b, t
RETURN count(DISTINCT t)
