// name: forget/search/user_choices
// purpose: what these users chose, in sequence order by user: user, sequence, item, weight, when the item's own text changed last
// parameters: refs
UNWIND $refs AS ref
MATCH (:Client {ref: ref})-[:DID]->(i:Interaction)-[:WITH]->(c:Client)
WITH i, c ORDER BY i.user, i.sequence
RETURN collect([i.user, i.sequence, i.item, i.weight, c.sequence])
