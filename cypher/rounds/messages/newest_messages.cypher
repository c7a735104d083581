// name: rounds/messages/newest_messages
// purpose: the newest published message of each router: its key, its epoch, and the epoch of the newest bootstrap
// parameters: routers, at
CALL () {
  MATCH (d:Round)
  WHERE d.number > 0 AND ($at IS NULL OR d.sequence <= $at)
  RETURN d.number AS last ORDER BY d.number DESC LIMIT 1
}
WITH last, coalesce(COLLECT {
  MATCH (e:Epoch)
  WHERE e.number >= 0 AND ($at IS NULL OR e.sequence <= $at)
  RETURN e.era ORDER BY e.number DESC LIMIT 1
}[0], 0) AS era
UNWIND $routers AS number
CALL (number, last) {
  MATCH (m:Message)
  WHERE m.router = number AND m.round > 0 AND m.round <= last
  RETURN m.version AS version, m.epoch AS epoch ORDER BY m.router DESC, m.round DESC LIMIT 1
}
WITH number, version, epoch, era ORDER BY number
RETURN collect([number, version, epoch, era])
