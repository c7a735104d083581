// name: reason/claims/set_reasoned
// purpose: store the outcome of reasoned interactions
// parameters: rows
UNWIND $rows AS row
MATCH (i:Interaction {sequence: row[0]})
SET i.reward = row[1], i.reasoned = row[2], i.failure = row[3], i.prompts = row[4], i.fallback = row[5]
