// name: rounds/messages/receiver_edges
// purpose: every edge of clients that a round up to this one opened, as columns; closed is null while it stands
// parameters: refs, through
UNWIND $refs AS ref
MATCH (c:Client {ref: ref})
MATCH (c)<-[e:ROUTES_TO]-()
WHERE e.opened + 0 <= $through
RETURN collect(ref), collect(e.router), collect(e.opened), collect(coalesce(e.closed, -1))
