// name: forget/retention/replaced_messages
// purpose: messages whose next remaining version was published at or before a sequence
// parameters: before
MATCH (d:Round)
WHERE d.number > 0 AND d.sequence <= $before
MATCH (n:Message {round: d.number})
CALL (n) {
  MATCH (m:Message {router: n.router})
  WHERE m.version < n.version
  RETURN m ORDER BY m.router DESC, m.version DESC LIMIT 1
}
RETURN m.router, m.version
