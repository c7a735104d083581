// name: forget/export/client/client_before
// purpose: the earlier contents of the client
// parameters: ref
MATCH (:Client {ref: $ref})-[:WAS]->(b:ClientBefore)
RETURN {until: b.until, title: coalesce(b.title, ''), description: coalesce(b.description, ''), attributes: coalesce(b.attributes, []),
  categories: coalesce(b.categories, []), hidden: coalesce(b.hidden, false), metadata: coalesce(b.metadata, '{}'), sequence: b.sequence}
ORDER BY b.until
