// name: forget/withdrawal/create_gaps
// purpose: interactions are gaps of the log from now on; what hangs on them goes in parts. learned: their block has a row of each
// parameters: rows
UNWIND $rows AS row
MATCH (i:Interaction {sequence: row[0]})
SET i:Vacant:Leaving, i.learned = row[1]
REMOVE i:Interaction:DeadLetter
