// name: record/log/wait_for_log
// purpose: wait for the running commit that has locked the end of the log
// parameters: none
MATCH (p:Progress {name: 'log'})
SET p.locked = true
