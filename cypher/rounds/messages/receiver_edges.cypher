// name: rounds/messages/receiver_edges
// purpose: all edges to clients that rounds up to a given one opened, as columns; closed is -1 for a current edge
// parameters: refs, through
UNWIND $refs AS ref
MATCH (c:Client {ref: ref})
MATCH (c)<-[e:ROUTES_TO]-()
WHERE e.opened + 0 <= $through
RETURN collect(ref), collect(e.router), collect(e.opened), collect(coalesce(e.closed, -1))
