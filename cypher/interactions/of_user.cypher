// name: interactions/of_user
// purpose: a user's interactions, newest first
// parameters: ref, limit
MATCH (c:Client {ref: $ref})-[:DID]->(i:Interaction)
RETURN i.sequence, i.event_id, i.user, i.item, i.negative, i.time, i.weight, i.prompts, i.stand_in ORDER BY i.sequence DESC LIMIT $limit
