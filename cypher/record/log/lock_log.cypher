// name: record/log/lock_log
// purpose: hold the log until the transaction ends: nobody else takes a sequence; where it stands, and the commit's time
// parameters: now
MATCH (p:Progress {name: 'log'})
SET p.locked = true
WITH p, coalesce($now, timestamp()) AS now
RETURN p.sequence, p.users, p.items, CASE WHEN now > p.at THEN now ELSE p.at END
