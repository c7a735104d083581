// name: connection/lease_holder
// purpose: the current holder of a lease; no row if there is none; times are in milliseconds
// parameters: name, longest, now
MATCH (l:Lease {name: $name})
WITH l, coalesce($now, timestamp()) AS now
WHERE l.expires > now AND l.expires <= now + $longest
RETURN l.holder
