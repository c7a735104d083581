// name: forget/client/delete_retracted_events
// purpose: delete a client's retracted events
// parameters: ref
CALL () {
  MATCH (r:Retracted)
  WHERE r.user = $ref
  RETURN r
  UNION
  MATCH (r:Retracted)
  WHERE r.item = $ref
  RETURN r
}
DELETE r
