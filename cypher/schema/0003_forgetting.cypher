// name: schema/0003_forgetting
// purpose: what was taken back: event ids that stay a repeat, hashes of forgotten ones, gaps of the log, and blocks with emptied rows
// parameters: none
CREATE CONSTRAINT retracted_event IF NOT EXISTS FOR (r:Retracted) REQUIRE r.event_id IS UNIQUE;
CREATE INDEX retracted_user IF NOT EXISTS FOR (r:Retracted) ON (r.user);
CREATE INDEX retracted_item IF NOT EXISTS FOR (r:Retracted) ON (r.item);
CREATE CONSTRAINT forgotten_event IF NOT EXISTS FOR (f:Forgotten) REQUIRE f.event IS UNIQUE;
CREATE CONSTRAINT vacant_sequence IF NOT EXISTS FOR (v:Vacant) REQUIRE v.sequence IS UNIQUE;
CREATE INDEX block_marked IF NOT EXISTS FOR (b:LearnedBlock) ON (b.marked);
