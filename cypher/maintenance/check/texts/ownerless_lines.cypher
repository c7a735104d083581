// name: maintenance/check/texts/ownerless_lines
// purpose: current lines and filter rules that belong to no client
// parameters: limit
// scans: Line and FilterRule, a check looks at every one
CALL () {
  MATCH (l:Line)
  WHERE NOT EXISTS { (l)<-[:SAYS]-(:Client) }
  RETURN l.ref AS ref
  UNION
  MATCH (r:FilterRule)
  WHERE NOT EXISTS { (r)<-[:FILTERS_BY]-(:Client) }
  RETURN r.ref AS ref
}
RETURN ref LIMIT $limit
