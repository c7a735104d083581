// name: schema/0002_outbox
// purpose: changes on their way to the vector index
// parameters: none
CREATE CONSTRAINT waiting_id IF NOT EXISTS FOR (w:Waiting) REQUIRE w.id IS UNIQUE;
CREATE INDEX waiting_at IF NOT EXISTS FOR (w:Waiting) ON (w.at);
CREATE INDEX waiting_staged IF NOT EXISTS FOR (w:Waiting) ON (w.staged);
