// name: forget/retention/message_states
// purpose: lock messages until the transaction ends; returns for each the sequence of its newest merge, and that of the round of the router's next remaining version
// parameters: keys
UNWIND $keys AS key
MATCH (m:Message {router: key[0], version: key[1]})
SET m.locked = true
REMOVE m.locked
WITH m
RETURN m.router, m.version,
       head(COLLECT { MATCH (m)-[g:MERGED_INTO]->() RETURN g.sequence ORDER BY g.sequence DESC LIMIT 1 }),
       head(COLLECT { MATCH (n:Message {router: m.router})
                      WHERE n.version > m.version
                      MATCH (d:Round {number: n.round})
                      RETURN d.sequence ORDER BY n.version LIMIT 1 })
