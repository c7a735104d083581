-- The messages that wait for clients (RecNet 2.3.1).
--
-- The rule of `propagation.reception.message_buffer.WaitingMessages` as one statement; a property
-- test compares the two on random histories. It stays because it is faster. In a database of 4,000
-- clients with 10 edges each, 64 clients took 8 to 17 us each; the rule over rows that simpler
-- queries fetch took 27 to 43 us. A claim of 400 interactions took 414 ms of CPU, with the rule
-- 447 ms, 8% more.
--
-- How the statement finds it: an edge that closed at or before the watermark has nothing that waits,
-- so that of a long history only its end is read. Of an edge only the newest version is looked up,
-- from the newest round backwards, since a client that slept for a thousand rounds has a thousand
-- versions of each router behind it. Edges are always looked up by client: one round may end an edge
-- of every client, and an index of rounds would then be read whole for each.
WITH
asked AS (
  SELECT value->>0 AS ref, value->>1 AS after
  FROM json_each(:asked)
),
-- Clients whose watermark has not passed the round of their first edge.
new_client AS (
  SELECT a.ref, a.after, (
    SELECT min(opened)
    FROM (
      SELECT e.opened FROM edge e WHERE e.ref = a.ref
      UNION ALL
      SELECT e.opened FROM edge_past e WHERE e.ref = a.ref
    )
    WHERE opened <= :through
  ) AS opened
  FROM asked a
  WHERE NOT EXISTS (
    SELECT 1 FROM edge e
    WHERE e.ref = a.ref
      AND e.opened <= a.after
  )
  AND NOT EXISTS (
    SELECT 1 FROM edge_past e INDEXED BY edge_past_ref
    WHERE e.ref = a.ref
      AND e.opened <= a.after
  )
),
first_edge AS (
  SELECT n.ref, n.opened, e.router
  FROM new_client n
  CROSS JOIN edge e
    ON e.ref = n.ref
    AND e.opened = n.opened
  WHERE n.after < n.opened
  UNION ALL
  SELECT n.ref, n.opened, e.router
  FROM new_client n
  CROSS JOIN edge_past e INDEXED BY edge_past_ref
    ON e.ref = n.ref
    AND e.opened = n.opened
  WHERE n.after < n.opened
),
sent AS (
  -- The newest message that a current edge has brought since the watermark.
  SELECT a.ref, v.router, v.version, v.round
  FROM asked a
  CROSS JOIN edge e
    ON e.ref = a.ref
    AND e.opened <= :through
  CROSS JOIN router_version v INDEXED BY router_version_of_round
    ON v.router = e.router
    AND v.round = (
      SELECT w.round
      FROM router_version w INDEXED BY router_version_of_round
      WHERE w.router = e.router
        AND w.round BETWEEN max(a.after + 1, e.opened) AND :through
        AND w.lone IS NOT a.ref
      ORDER BY w.round DESC
      LIMIT 1
    )
  UNION ALL
  -- The newest message that an ended edge brought since the watermark.
  SELECT a.ref, v.router, v.version, v.round
  FROM asked a
  CROSS JOIN edge_past e INDEXED BY edge_past_ref
    ON e.ref = a.ref
    AND e.closed > a.after
    AND e.opened <= :through
  CROSS JOIN router_version v INDEXED BY router_version_of_round
    ON v.router = e.router
    AND v.round = (
      SELECT w.round
      FROM router_version w INDEXED BY router_version_of_round
      WHERE w.router = e.router
        AND w.round BETWEEN max(a.after + 1, e.opened) AND min(:through, e.closed - 1)
        AND w.lone IS NOT a.ref
      ORDER BY w.round DESC
      LIMIT 1
    )
  UNION ALL
  -- The message that was current when the client's first edge opened, unless a router of an
  -- earlier bootstrap sent it.
  SELECT f.ref, v.router, v.version, v.round
  FROM first_edge f
  CROSS JOIN router_version v INDEXED BY router_version_of_round
    ON v.router = f.router
    AND v.round = (
      SELECT max(w.round)
      FROM router_version w
      WHERE w.router = f.router
        AND w.round <= f.opened
    )
    AND v.lone IS NOT f.ref
    AND v.epoch >= coalesce((
      SELECT e.era
      FROM round r
      CROSS JOIN epoch e
        ON e.sequence <= r.sequence
      WHERE r.number = f.opened
      ORDER BY e.number DESC
      LIMIT 1
    ), 0)
)
SELECT json_group_array(json_array(ref, router, version))
FROM (
  SELECT ref, router, max(version) AS version
  FROM sent
  GROUP BY ref, router
  ORDER BY ref, max(round) DESC, router
)
