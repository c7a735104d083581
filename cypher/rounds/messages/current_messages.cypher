// name: rounds/messages/current_messages
// purpose: for each (router, round) the message that was current in that round: [router, round, version, round of the message, lone, epoch]
// parameters: pairs
UNWIND $pairs AS pair
CALL (pair) {
  MATCH (m:Message)
  WHERE m.router = pair[0] AND m.round > 0 AND m.round <= pair[1]
  RETURN m.round AS round, m.version AS version, m.lone AS lone, m.epoch AS epoch ORDER BY m.router DESC, m.round DESC LIMIT 1
}
RETURN collect([pair[0], pair[1], version, round, lone, epoch])
