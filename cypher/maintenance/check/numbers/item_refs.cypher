// name: maintenance/check/numbers/item_refs
// purpose: the refs of items, one page in their order
// parameters: after, limit
MATCH (i:Item)
WHERE i.ref > $after
WITH i.ref AS ref ORDER BY ref LIMIT $limit
RETURN collect(ref)
