// name: interactions/of_item
// purpose: an item's interactions as the positive one, newest first
// parameters: ref, limit
MATCH (c:Client {ref: $ref})<-[:WITH]-(i:Interaction)
RETURN i.sequence, i.event_id, i.user, i.item, i.negative, i.time, i.weight, i.prompts, i.stand_in ORDER BY i.sequence DESC LIMIT $limit
