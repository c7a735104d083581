// name: rounds/evolution/take_run_number
// purpose: the next run's number
// parameters: none
MATCH (p:Progress {name: 'evolution'})
SET p.locked = true
WITH p, p.run + 1 AS run
SET p.run = run
RETURN run
