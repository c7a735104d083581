// name: forget/search/texts_with_words
// purpose: for one page of all clients by ref: the last ref, and the clients' own texts that contain one of the words, or a letter beyond ASCII, with which a word may be written differently; the client `ref` is left out
// parameters: after, limit, ref, words
MATCH (c:Client)
WHERE c.ref > $after
WITH c ORDER BY c.ref LIMIT $limit
RETURN max(c.ref), collect(CASE WHEN c.ref <> $ref AND any(text IN [coalesce(c.title, ''), coalesce(c.description, '')] + coalesce(c.attributes, []) + coalesce(c.categories, []) WHERE any(word IN $words WHERE toLower(text) CONTAINS word) OR text =~ '(?s).*[^\\x00-\\x7F].*')
  THEN [coalesce(c.title, ''), coalesce(c.description, '')] + coalesce(c.attributes, []) + coalesce(c.categories, []) END)
