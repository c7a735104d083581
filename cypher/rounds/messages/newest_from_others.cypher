// name: rounds/messages/newest_from_others
// purpose: for each (router, first round, last round, client), the newest message of these rounds that does not come from the client alone: [place among the spans, version, round, lone, epoch]
// parameters: spans
UNWIND range(0, size($spans) - 1) AS place
WITH place, $spans[place] AS span
CALL (span) {
  MATCH (m:Message)
  WHERE m.router = span[0] AND m.round >= span[1] AND m.round <= span[2] AND coalesce(m.lone, -1) <> span[3]
  RETURN m.round AS round, m.version AS version, m.lone AS lone, m.epoch AS epoch ORDER BY m.router DESC, m.round DESC LIMIT 1
}
RETURN collect([place, version, round, lone, epoch])
