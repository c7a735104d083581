// name: record/log/lock_log
// purpose: lock the end of the log until the transaction ends; returns the end and the time of the commit
// parameters: now
MATCH (p:Progress {name: 'log'})
SET p.locked = true
WITH p, coalesce($now, timestamp()) AS now
RETURN p.sequence, p.users, p.items, CASE WHEN now > p.at THEN now ELSE p.at END
