// name: forget/search/texts_with_words
// purpose: of one page of all clients by ref: the last ref, and the clients' own texts that contain one of the words or a letter beyond ASCII, which may be another form of one; one client is left out
// parameters: after, limit, ref, words
MATCH (c:Client)
WHERE c.ref > $after
WITH c ORDER BY c.ref LIMIT $limit
RETURN max(c.ref), collect(CASE WHEN c.ref <> $ref AND any(text IN [coalesce(c.title, ''), coalesce(c.description, '')] + coalesce(c.attributes, []) + coalesce(c.categories, []) WHERE any(word IN $words WHERE toLower(text) CONTAINS word) OR text =~ '(?s).*[^\\x00-\\x7F].*')
  THEN [coalesce(c.title, ''), coalesce(c.description, '')] + coalesce(c.attributes, []) + coalesce(c.categories, []) END)
