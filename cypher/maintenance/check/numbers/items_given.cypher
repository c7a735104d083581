// name: maintenance/check/numbers/items_given
// purpose: how many items there ever were, removed ones included
// parameters: none
MATCH (p:Progress {name: 'log'})
RETURN p.items
