// name: forget/export/client/client
// purpose: the client as it is now
// parameters: ref
MATCH (c:Client {ref: $ref})
RETURN {client: CASE WHEN c:Item THEN 'item:' ELSE 'user:' END + c.id, title: coalesce(c.title, ''), description: coalesce(c.description, ''),
  attributes: coalesce(c.attributes, []), categories: coalesce(c.categories, []), hidden: coalesce(c.hidden, false),
  metadata: coalesce(c.metadata, '{}'), sequence: c.sequence}
