// name: schema/0001_graph
// purpose: the constraints and indexes of the graph. Constraints are all of uniqueness: Neo4j Community has no others
// parameters: none
CREATE CONSTRAINT meta_of IF NOT EXISTS FOR (m:Meta) REQUIRE m.of IS UNIQUE;
CREATE CONSTRAINT progress_name IF NOT EXISTS FOR (p:Progress) REQUIRE p.name IS UNIQUE;
CREATE CONSTRAINT fact_name IF NOT EXISTS FOR (f:Fact) REQUIRE f.name IS UNIQUE;
CREATE CONSTRAINT lease_name IF NOT EXISTS FOR (l:Lease) REQUIRE l.name IS UNIQUE;
CREATE CONSTRAINT client_ref IF NOT EXISTS FOR (c:Client) REQUIRE c.ref IS UNIQUE;
CREATE CONSTRAINT user_id IF NOT EXISTS FOR (u:User) REQUIRE u.id IS UNIQUE;
CREATE CONSTRAINT item_id IF NOT EXISTS FOR (i:Item) REQUIRE i.id IS UNIQUE;
CREATE CONSTRAINT user_ref IF NOT EXISTS FOR (u:User) REQUIRE u.ref IS UNIQUE;
CREATE CONSTRAINT item_ref IF NOT EXISTS FOR (i:Item) REQUIRE i.ref IS UNIQUE;
CREATE CONSTRAINT log_entry_sequence IF NOT EXISTS FOR (e:LogEntry) REQUIRE e.sequence IS UNIQUE;
CREATE INDEX commit_at IF NOT EXISTS FOR (c:Commit) ON (c.at, c.sequence);
CREATE CONSTRAINT interaction_sequence IF NOT EXISTS FOR (i:Interaction) REQUIRE i.sequence IS UNIQUE;
CREATE CONSTRAINT interaction_event IF NOT EXISTS FOR (i:Interaction) REQUIRE i.event_id IS UNIQUE;
CREATE INDEX dead_letter IF NOT EXISTS FOR (i:DeadLetter) ON (i.sequence);
CREATE CONSTRAINT learned_through IF NOT EXISTS FOR (b:LearnedBlock) REQUIRE b.through IS UNIQUE;
CREATE CONSTRAINT staged_through IF NOT EXISTS FOR (b:StagedBlock) REQUIRE b.through IS UNIQUE;
CREATE INDEX block_trust IF NOT EXISTS FOR (b:LearnedBlock) ON (b.increments);
CREATE CONSTRAINT checkpoint_id IF NOT EXISTS FOR (c:Checkpoint) REQUIRE c.id IS UNIQUE;
CREATE INDEX checkpoint_part IF NOT EXISTS FOR (p:CheckpointPart) ON (p.checkpoint, p.name, p.part);
CREATE CONSTRAINT epoch_number IF NOT EXISTS FOR (e:Epoch) REQUIRE e.number IS UNIQUE;
CREATE CONSTRAINT claim_token IF NOT EXISTS FOR (c:Claim) REQUIRE c.token IS UNIQUE;
CREATE CONSTRAINT profile_version IF NOT EXISTS FOR (p:ProfileVersion) REQUIRE (p.ref, p.version) IS UNIQUE;
CREATE INDEX profile_version_sequence IF NOT EXISTS FOR (p:ProfileVersion) ON (p.sequence);
CREATE CONSTRAINT line IF NOT EXISTS FOR (l:Line) REQUIRE (l.ref, l.id) IS UNIQUE;
CREATE CONSTRAINT filter_rule IF NOT EXISTS FOR (r:FilterRule) REQUIRE (r.ref, r.place) IS UNIQUE;
CREATE INDEX gradient_sequence IF NOT EXISTS FOR (g:Gradient) ON (g.module, g.sequence, g.owner);
CREATE CONSTRAINT router_number IF NOT EXISTS FOR (r:Router) REQUIRE r.number IS UNIQUE;
CREATE CONSTRAINT round_number IF NOT EXISTS FOR (r:Round) REQUIRE r.number IS UNIQUE;
CREATE CONSTRAINT attribute_name IF NOT EXISTS FOR (a:Attribute) REQUIRE a.name IS UNIQUE;
CREATE INDEX attribute_staged IF NOT EXISTS FOR (a:Attribute) ON (a.staged);
CREATE INDEX client_staged IF NOT EXISTS FOR (c:Client) ON (c.staged);
CREATE CONSTRAINT message_version IF NOT EXISTS FOR (m:Message) REQUIRE (m.router, m.version) IS UNIQUE;
CREATE INDEX message_round IF NOT EXISTS FOR (m:Message) ON (m.round);
CREATE INDEX message_of_round IF NOT EXISTS FOR (m:Message) ON (m.router, m.round);
CREATE INDEX routes_to_opened IF NOT EXISTS FOR ()-[e:ROUTES_TO]-() ON (e.opened, e.router);
CREATE INDEX routes_to_closed IF NOT EXISTS FOR ()-[e:ROUTES_TO]-() ON (e.closed, e.router);
CREATE INDEX integrated_ref IF NOT EXISTS FOR ()-[t:INTEGRATED_INTO]-() ON (t.ref);
CREATE INDEX merged_sequence IF NOT EXISTS FOR ()-[m:MERGED_INTO]-() ON (m.sequence);
CREATE INDEX profile_version_number IF NOT EXISTS FOR (p:ProfileVersion) ON (p.number);
CREATE INDEX merged_number IF NOT EXISTS FOR ()-[m:MERGED_INTO]-() ON (m.number);
CREATE CONSTRAINT evolution_run IF NOT EXISTS FOR (e:EvolutionRun) REQUIRE e.run IS UNIQUE;

// Changes on their way to the vector index.
CREATE CONSTRAINT waiting_id IF NOT EXISTS FOR (w:Waiting) REQUIRE w.id IS UNIQUE;
CREATE INDEX waiting_at IF NOT EXISTS FOR (w:Waiting) ON (w.at);
CREATE INDEX waiting_staged IF NOT EXISTS FOR (w:Waiting) ON (w.staged);

// Retracted and forgotten events, gaps that they left in the log, and blocks with rows to empty.
CREATE CONSTRAINT retracted_event IF NOT EXISTS FOR (r:Retracted) REQUIRE r.event_id IS UNIQUE;
CREATE INDEX retracted_user IF NOT EXISTS FOR (r:Retracted) ON (r.user);
CREATE INDEX retracted_item IF NOT EXISTS FOR (r:Retracted) ON (r.item);
CREATE CONSTRAINT forgotten_event IF NOT EXISTS FOR (f:Forgotten) REQUIRE f.event IS UNIQUE;
CREATE CONSTRAINT vacant_sequence IF NOT EXISTS FOR (v:Vacant) REQUIRE v.sequence IS UNIQUE;
CREATE INDEX block_marked IF NOT EXISTS FOR (b:LearnedBlock) ON (b.marked);

// Points of a vector index that lives in the service's memory, kept between its starts.
CREATE CONSTRAINT point_id IF NOT EXISTS FOR (p:Point) REQUIRE p.id IS UNIQUE;
CREATE INDEX point_shelf IF NOT EXISTS FOR (p:Point) ON (p.shelf, p.id);

// Outcomes of messages: few are dropped, and analysts look for those.
CREATE INDEX merged_outcome IF NOT EXISTS FOR ()-[m:MERGED_INTO]-() ON (m.outcome, m.sequence);

// A new database has this index of relationships by type. No statement uses it, and recording an event would
// update it twice.
DROP INDEX index_f7700477 IF EXISTS;
