-- Schema 5: the client that a message comes from alone, which never receives it, where looking for what waits finds it.
ALTER TABLE router_version ADD COLUMN lone INTEGER;
UPDATE router_version SET lone = senders->0->>1 WHERE json_array_length(senders) = 1;
DROP INDEX router_version_of_round;
CREATE INDEX router_version_of_round ON router_version (router, round, version, lone);
