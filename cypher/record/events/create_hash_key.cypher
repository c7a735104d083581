// name: record/events/create_hash_key
// purpose: the key under which event ids are hashed: drawn with the first that is forgotten
// parameters: key
MATCH (p:Progress {name: 'forgetting'})
SET p.key = coalesce(p.key, $key)
RETURN p.key
