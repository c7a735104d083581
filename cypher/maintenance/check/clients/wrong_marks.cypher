// name: maintenance/check/clients/wrong_marks
// purpose: clients that an upsert named and that are marked as if only events had named them
// parameters: limit
// scans: Client, a check looks at every one
MATCH (c:Client)
WHERE c.only_in_events
  AND (c.title IS NOT NULL OR c.description IS NOT NULL OR c.attributes IS NOT NULL OR c.categories IS NOT NULL OR c.hidden IS NOT NULL
       OR c.metadata IS NOT NULL OR EXISTS { (c)-[:WAS]->() })
RETURN c.ref LIMIT $limit
