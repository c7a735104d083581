// Which messages were dropped, and by what?
// Newest first: "filtered" by a rule of the client's filter memory, "fell out" of a full buffer, "empty": nothing was in it.
// after: a sequence (0: from the beginning) · limit: how many
:params {after: 0, limit: 100};

MATCH (m:Message)-[g:MERGED_INTO]->(p:ProfileVersion)
USING INDEX g:MERGED_INTO(outcome, sequence)
WHERE g.outcome IN ['filtered', 'fell out', 'empty'] AND g.sequence > $after
WITH m, g, p ORDER BY g.sequence DESC LIMIT $limit
MATCH path = (:Router)-[:SENT]->(m)-[g]->(p)<-[:HAS]-(:Client)
RETURN g.outcome AS why, g.sequence AS sequence, path ORDER BY sequence DESC
