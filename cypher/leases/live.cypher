// name: leases/live
// purpose: a process lives for so long from now on (0: it ends); those that did and do no more, and nothing of those that stopped a day ago. Times in milliseconds
// parameters: holder, ttl, now
MERGE (l:Lease {name: 'alive:' + $holder})
SET l.holder = $holder, l.token = 1, l.expires = CASE $ttl WHEN 0 THEN 0 ELSE coalesce($now, timestamp()) + $ttl END
WITH coalesce($now, timestamp()) AS now
CALL (now) {
  MATCH (gone:Lease)
  WHERE gone.name STARTS WITH 'alive:' AND gone.expires < now - 86400000
  DELETE gone
}
RETURN COLLECT { MATCH (other:Lease) WHERE other.name STARTS WITH 'alive:' AND other.expires <= now RETURN other.holder }
