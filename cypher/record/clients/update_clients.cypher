// name: record/clients/update_clients
// purpose: set new contents of clients and keep the old ones with the sequence of the change
// parameters: rows, sequence
UNWIND $rows AS row
MATCH (c:Client {ref: row.ref})
CREATE (c)-[:WAS]->(:ClientBefore {until: $sequence, title: c.title, description: c.description, attributes: c.attributes,
  categories: c.categories, hidden: c.hidden, metadata: c.metadata, sequence: c.sequence})
SET c.title = row.title, c.description = row.description, c.attributes = row.attributes, c.categories = row.categories,
  c.hidden = row.hidden, c.metadata = row.metadata, c.sequence = row.sequence, c.words = row.words,
  c.only_in_events = row.only_in_events
