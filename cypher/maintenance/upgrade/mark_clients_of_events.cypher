// name: maintenance/upgrade/mark_clients_of_events
// purpose: mark clients of an older schema of which nothing was said, and that an event created or that nothing names after an erasure or a retraction, a page by ref; returns the last ref of the page
// parameters: after, limit
MATCH (c:Client)
WHERE c.ref > $after
WITH c ORDER BY c.ref LIMIT $limit
WITH collect(c) AS page
CALL (page) {
  UNWIND page AS c
  WITH c
  WHERE c.title IS NULL AND c.description IS NULL AND c.attributes IS NULL AND c.categories IS NULL AND c.hidden IS NULL
    AND c.metadata IS NULL AND NOT EXISTS { MATCH (c)-[:WAS]->() }
  MATCH (e:LogEntry {sequence: c.sequence})
  WHERE EXISTS { MATCH (c)-[:DID]->(i:Interaction) WHERE i.at = e.at } OR EXISTS { MATCH (c)<-[:WITH|AGAINST]-(i:Interaction) WHERE i.at = e.at }
    OR EXISTS {
      MATCH (r:Retracted)
      WHERE (r.user = c.ref OR r.item = c.ref) AND r.sequence > e.sequence
        AND NOT EXISTS { MATCH (m:LogEntry) WHERE m.sequence > e.sequence AND m.sequence < r.sequence }
        AND NOT EXISTS { MATCH (i:Interaction) WHERE i.sequence > e.sequence AND i.sequence < r.sequence AND i.at <> e.at }
    }
    OR (NOT EXISTS { MATCH (c)-[:DID|WITH|AGAINST]-(:Interaction) }
      AND NOT EXISTS { MATCH (r:Retracted) WHERE r.user = c.ref OR r.item = c.ref }
      AND EXISTS { MATCH (l:LogEntry) WHERE l.kind IN ['erasure', 'retraction'] AND l.sequence > e.sequence })
  SET c.only_in_events = true
}
RETURN page[-1].ref
