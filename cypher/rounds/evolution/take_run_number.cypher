// name: rounds/evolution/take_run_number
// purpose: count up and return the number of runs
// parameters: none
MATCH (p:Progress {name: 'evolution'})
SET p.locked = true
WITH p, p.run + 1 AS run
SET p.run = run
RETURN run
