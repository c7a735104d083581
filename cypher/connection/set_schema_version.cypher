// name: connection/set_schema_version
// purpose: mark the database as ours, set its schema version, and create the nodes that hold counters
// parameters: schema
MERGE (m:Meta {of: 'propagation'})
SET m.schema = $schema
MERGE (log:Progress {name: 'log'})
ON CREATE SET log.sequence = 0, log.at = 0, log.users = 0, log.items = 0
MERGE (reason:Progress {name: 'reason'})
ON CREATE SET reason.through = 0, reason.token = 0
MERGE (kept:Progress {name: 'retention'})
ON CREATE SET kept.oldest = 0
MERGE (checkpoint:Progress {name: 'checkpoint'})
ON CREATE SET checkpoint.id = 0
MERGE (texts:Progress {name: 'texts'})
ON CREATE SET texts.texts = 0, texts.merges = 0
MERGE (evolution:Progress {name: 'evolution'})
ON CREATE SET evolution.run = 0
MERGE (forgetting:Progress {name: 'forgetting'})
ON CREATE SET forgetting.due = false
