// name: forget/export/client/edge
// purpose: the client's edges in the routing table
// parameters: ref
MATCH (c:Client {ref: $ref})
MATCH (c)<-[e:ROUTES_TO]-(r:Router)
MATCH (o:Round {number: e.opened})
OPTIONAL MATCH (d:Round {number: e.closed})
RETURN {router: r.number, score: e.score, from: o.sequence, until: d.sequence} ORDER BY o.sequence, r.number
