// name: forget/search/texts_with_word
// purpose: of one page of all clients by ref: the last ref, and the clients' own texts that contain a word; one client is left out
// parameters: after, limit, ref, word
MATCH (c:Client)
WHERE c.ref > $after
WITH c ORDER BY c.ref LIMIT $limit
RETURN max(c.ref), collect(CASE WHEN c.ref <> $ref AND any(text IN [coalesce(c.title, ''), coalesce(c.description, '')] + coalesce(c.attributes, []) + coalesce(c.categories, []) WHERE toLower(text) CONTAINS $word)
  THEN [coalesce(c.title, ''), coalesce(c.description, '')] + coalesce(c.attributes, []) + coalesce(c.categories, []) END)
