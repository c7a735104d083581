// name: record/log/wait_for_log
// purpose: wait for the commit that holds the log, so that all of it can be read
// parameters: none
MATCH (p:Progress {name: 'log'})
SET p.locked = true
