// name: forget/search/clients_with_words
// purpose: for one page of all texts in commit order: the last number, and the clients whose texts contain one of the words (in lower case; a text with one of `letters` may contain any word)
// parameters: after, limit, words, escaped, letters
MATCH (p:ProfileVersion)
WHERE p.number > $after
WITH p ORDER BY p.number LIMIT $limit
RETURN max(p.number), collect(DISTINCT CASE WHEN any(word IN $words WHERE any(text IN p.line_texts + p.attributes WHERE replace(toLower(text), 'ß', 'ss') CONTAINS word))
  OR any(letter IN $letters WHERE any(text IN p.line_texts WHERE text CONTAINS letter))
  OR any(word IN $escaped WHERE replace(toLower(p.rules), 'ß', 'ss') CONTAINS word) THEN p.ref END)
