// name: record/log/wait_for_log
// purpose: wait for the commit that holds the end of the log
// parameters: none
MATCH (p:Progress {name: 'log'})
SET p.locked = true
