// name: record/search/users_with_words
// purpose: users that have all words, by ref; the query names the words, for the server's full-text index
// parameters: query, after, limit
CALL db.index.fulltext.queryNodes('user_words', $query) YIELD node
WITH node.ref AS ref
WHERE ref > $after
RETURN ref ORDER BY ref LIMIT $limit
