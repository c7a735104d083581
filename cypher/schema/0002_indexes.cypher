// name: indexes
// purpose: what rounds, claims and traces look up
// parameters: none
CREATE INDEX profile_version_sequence IF NOT EXISTS FOR (p:ProfileVersion) ON (p.sequence);
CREATE INDEX message_round IF NOT EXISTS FOR (m:Message) ON (m.round);
CREATE INDEX gradient_owner IF NOT EXISTS FOR (g:Gradient) ON (g.module, g.owner, g.sequence);
CREATE INDEX routes_to_until IF NOT EXISTS FOR ()-[e:ROUTES_TO]-() ON (e.until);
