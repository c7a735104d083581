// name: forget/search/clients_with_words
// purpose: of one page of all texts in commit order: the last number, and the clients whose texts contain one of the words
// parameters: after, limit, words, escaped
MATCH (p:ProfileVersion)
WHERE p.number > $after
WITH p ORDER BY p.number LIMIT $limit
RETURN max(p.number), collect(DISTINCT CASE WHEN any(word IN $words WHERE any(text IN p.line_texts WHERE text CONTAINS word) OR any(name IN p.attributes WHERE name CONTAINS word))
  OR any(word IN $escaped WHERE p.rules CONTAINS word) THEN p.ref END)
