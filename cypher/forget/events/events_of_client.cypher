// name: forget/events/events_of_client
// purpose: a client's interactions, and its retracted events: their sequences and ids
// parameters: ref
MATCH (c:Client {ref: $ref})
RETURN COLLECT { MATCH (c)-[:DID]->(i:Interaction) RETURN [i.sequence, i.event_id] } + COLLECT { MATCH (c)<-[:WITH]-(i:Interaction) RETURN [i.sequence, i.event_id] } AS interactions,
  COLLECT { MATCH (r:Retracted) WHERE r.user = c.ref RETURN [r.sequence, r.event_id] } + COLLECT { MATCH (r:Retracted) WHERE r.item = c.ref RETURN [r.sequence, r.event_id] } AS retracted
