// name: forget/export/interactions/reasoned
// purpose: the client's interactions that are reasoned
// parameters: ref
MATCH (c:Client {ref: $ref})
CALL (c) {
  MATCH (c)-[:DID]->(i:Interaction)
  RETURN i
  UNION
  MATCH (c)<-[:WITH]-(i:Interaction)
  RETURN i
}
WITH i
WHERE i.reasoned IS NOT NULL
RETURN {sequence: i.sequence, reward: i.reward, late: CASE WHEN i.reasoned <> i.sequence THEN i.reasoned END,
  prompts: coalesce(i.prompts, []), fallback: i.fallback} ORDER BY i.sequence
