// name: forget/search/cited_since
// purpose: a client whose text was committed after a number and cites one of these interactions or messages; `evidence` is the interactions as rules write them
// parameters: number, sequences, evidence, messages
MATCH (p:ProfileVersion)
WHERE p.number > $number
  AND (any(sequence IN p.source_sequences WHERE sequence IN $sequences)
    OR any(place IN range(0, size(p.source_routers) - 1) WHERE [p.source_routers[place], p.source_versions[place]] IN $messages)
    OR (p.rules IS NOT NULL AND any(token IN split(p.rules, [',', '[', ']']) WHERE token IN $evidence)))
RETURN p.ref LIMIT 1
