// name: maintenance/upgrade/mark_clients_of_events
// purpose: mark clients of an older schema that an event created and of which nothing was said, a page by ref; returns the last ref of the page
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
  SET c.only_in_events = true
}
RETURN page[-1].ref
