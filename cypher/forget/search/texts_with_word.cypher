// name: forget/search/texts_with_word
// purpose: of a part of all clients in order of their refs: the last one, and what those say that hold a word, but one of them
// parameters: after, limit, ref, word
MATCH (c:Client)
WHERE c.ref > $after
WITH c ORDER BY c.ref LIMIT $limit
RETURN max(c.ref), collect(CASE WHEN c.ref <> $ref AND any(text IN [coalesce(c.title, ''), coalesce(c.description, '')] + coalesce(c.attributes, []) + coalesce(c.categories, []) WHERE toLower(text) CONTAINS $word)
  THEN [coalesce(c.title, ''), coalesce(c.description, '')] + coalesce(c.attributes, []) + coalesce(c.categories, []) END)
