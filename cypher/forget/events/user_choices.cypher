// name: forget/events/user_choices
// purpose: the choices of users, by user and sequence: [user, sequence, item, weight, sequence at which the item's own text last changed, time]
// parameters: refs
UNWIND $refs AS ref
MATCH (:Client {ref: ref})-[:DID]->(i:Interaction)-[:WITH]->(c:Client)
WITH i, c ORDER BY i.user, i.sequence
RETURN collect([i.user, i.sequence, i.item, i.weight, c.sequence, i.time])
