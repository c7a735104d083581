// name: forget/events/events_of_client
// purpose: the sequences and ids of a client's interactions, and those of its retracted events
// parameters: ref
MATCH (c:Client {ref: $ref})
RETURN COLLECT { MATCH (c)-[:DID]->(i:Interaction) RETURN [i.sequence, i.event_id] } + COLLECT { MATCH (c)<-[:WITH]-(i:Interaction) RETURN [i.sequence, i.event_id] } AS interactions,
  COLLECT { MATCH (r:Retracted) WHERE r.user = c.ref RETURN [r.sequence, r.event_id] } + COLLECT { MATCH (r:Retracted) WHERE r.item = c.ref RETURN [r.sequence, r.event_id] } AS retracted
