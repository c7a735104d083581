// name: edges/all_of
// purpose: every published edge of a client; from and until are rounds' numbers, negative, until their sequences are set
// parameters: ref
CALL () {
  MATCH (d:Round)
  WHERE d.number > 0
  RETURN d.number AS last ORDER BY d.number DESC LIMIT 1
}
MATCH (c:Client {ref: $ref})<-[e:ROUTES_TO]-()
WHERE e.opened + 0 <= last
RETURN e.router, e.score, coalesce(e.from, -e.opened), CASE WHEN e.closed <= last THEN coalesce(e.until, -e.closed) END
ORDER BY e.score DESC, e.router
