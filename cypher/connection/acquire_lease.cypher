// name: connection/acquire_lease
// purpose: acquire or renew a lease; no row while another holder has it; times are in milliseconds
// parameters: name, holder, ttl, longest, now
MERGE (l:Lease {name: $name})
SET l.locked = true
WITH l, coalesce($now, timestamp()) AS now
WITH l, now, coalesce(l.expires > now AND l.expires <= now + $longest, false) AS valid
WHERE NOT valid OR l.holder = $holder
SET l.token = coalesce(l.token, 0) + CASE WHEN valid THEN 0 ELSE 1 END, l.holder = $holder, l.expires = now + $ttl
RETURN l.token
