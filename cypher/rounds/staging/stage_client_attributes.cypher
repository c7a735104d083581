// name: rounds/staging/stage_client_attributes
// purpose: stage the canonical attributes that clients hold, invisible until the round is published
// parameters: round, rows
UNWIND $rows AS row
MATCH (c:Client {ref: row[0]})
SET c.staged = $round, c.staged_holds = row[1]
