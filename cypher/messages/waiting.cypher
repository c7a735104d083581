// name: messages/waiting
// purpose: what waits for clients: for each (client, watermark) the newest message of each router whose edge covered it when it was sent; and what was current when its first edge opened. What comes from a client alone is not sent to it
// parameters: asked, through
UNWIND $asked AS row
MATCH (c:Client {ref: row[0]})
CALL (c, row) {
  MATCH (c)<-[e:ROUTES_TO]-()
  WHERE e.opened + 0 <= $through
  WITH row, collect([e.router, e.opened, e.closed]) AS edges, min(e.opened) AS first
  UNWIND edges AS edge
  CALL (row, edge, first) {
    MATCH (m:Message)
    WHERE m.router = edge[0] AND m.round > row[1] AND m.round >= edge[1] AND m.round <= $through
      AND (edge[2] IS NULL OR m.round < edge[2]) AND coalesce(m.lone, -1) <> row[0]
    RETURN m.round AS round, m.version AS version ORDER BY m.round DESC LIMIT 1
    UNION ALL
    WITH row, edge, first
    WHERE edge[1] = first AND row[1] < first
    MATCH (m:Message)
    WHERE m.router = edge[0] AND m.round > 0 AND m.round <= first
    WITH row, m ORDER BY m.round DESC LIMIT 1
    WHERE coalesce(m.lone, -1) <> row[0]
    RETURN m.round AS round, m.version AS version
  }
  WITH edge[0] AS router, max(version) AS version, max(round) AS round
  RETURN router, version, round
}
RETURN row[0], router, version ORDER BY row[0], round DESC, router
