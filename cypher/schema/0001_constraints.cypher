// name: constraints
// purpose: identity of every node, unique in Community edition
// parameters: none
CREATE CONSTRAINT client_ref IF NOT EXISTS FOR (c:Client) REQUIRE c.ref IS UNIQUE;
CREATE CONSTRAINT user_id IF NOT EXISTS FOR (u:User) REQUIRE u.id IS UNIQUE;
CREATE CONSTRAINT item_id IF NOT EXISTS FOR (i:Item) REQUIRE i.id IS UNIQUE;
CREATE CONSTRAINT router_number IF NOT EXISTS FOR (r:Router) REQUIRE (r.bank, r.number) IS UNIQUE;
CREATE CONSTRAINT attribute_name IF NOT EXISTS FOR (a:Attribute) REQUIRE a.name IS UNIQUE;
CREATE CONSTRAINT interaction_sequence IF NOT EXISTS FOR (i:Interaction) REQUIRE i.sequence IS UNIQUE;
CREATE CONSTRAINT interaction_event IF NOT EXISTS FOR (i:Interaction) REQUIRE i.event_id IS UNIQUE;
CREATE CONSTRAINT message_version IF NOT EXISTS FOR (m:Message) REQUIRE (m.router, m.version) IS UNIQUE;
CREATE CONSTRAINT profile_version IF NOT EXISTS FOR (p:ProfileVersion) REQUIRE (p.ref, p.version) IS UNIQUE;
CREATE CONSTRAINT evolution_run IF NOT EXISTS FOR (e:EvolutionRun) REQUIRE e.run IS UNIQUE;
