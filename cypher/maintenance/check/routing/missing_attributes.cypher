// name: maintenance/check/routing/missing_attributes
// purpose: names of missing attributes that clients hold
// parameters: limit
// scans: Client, a check looks at every one
MATCH (c:Client)
UNWIND c.holds AS name
WITH DISTINCT name
WHERE NOT EXISTS { MATCH (:Attribute {name: name}) }
RETURN name LIMIT $limit
