// name: record/events/create_hash_key
// purpose: the key under which event ids are hashed; stores the given one if there is none
// parameters: key
MATCH (p:Progress {name: 'forgetting'})
SET p.key = coalesce(p.key, $key)
RETURN p.key
