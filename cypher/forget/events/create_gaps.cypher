// name: forget/events/create_gaps
// purpose: turn interactions into gaps of the log, with the property learned: whether their block has a row of them; the sweep deletes the rest in batches
// parameters: rows
UNWIND $rows AS row
MATCH (i:Interaction {sequence: row[0]})
SET i:Vacant:Leaving, i.learned = row[1]
REMOVE i:Interaction:DeadLetter
