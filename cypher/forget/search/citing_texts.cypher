// name: forget/search/citing_texts
// purpose: the versions of texts that searches cover and that cite one of the sequences or messages, or hold a word: ref, version, whether it is the current one. A search is of one client, from `first` or from what was written at one of `at`, whichever is earlier; a text that cites a message needs one of `names` (null: none). `words` is the place of its words: as written, as JSON writes them, in lower case for texts that cite a message; `evidence` is the sequences as rules write them
// parameters: searches, words, sequences, evidence, messages
UNWIND $searches AS search
CALL (search) {
  UNWIND search.at AS sequence
  OPTIONAL MATCH (i:Interaction {sequence: sequence})
  WITH search, coalesce(i.reasoned, sequence) AS at
  MATCH (w:ProfileVersion)
  WHERE w.sequence = at AND w.ref = search.ref
  RETURN min(w.version) AS written
}
WITH search, $words[search.words] AS words, CASE WHEN written < search.first OR search.first IS NULL THEN written ELSE search.first END AS first
MATCH (p:ProfileVersion)
WHERE p.ref = search.ref AND p.version >= first
  AND (search.all
    OR any(sequence IN p.source_sequences WHERE sequence IN $sequences)
    OR p.rules IS NOT NULL AND any(token IN split(p.rules, [',', '[', ']']) WHERE token IN $evidence)
    OR any(word IN words.written WHERE any(text IN p.line_texts WHERE text CONTAINS word) OR any(name IN p.attributes WHERE name CONTAINS word))
    OR any(word IN words.escaped WHERE p.rules CONTAINS word)
    OR any(place IN range(0, size(p.source_routers) - 1)
           WHERE p.source_routers[place] * 4294967296 + p.source_versions[place] IN $messages)
      AND (search.names IS NULL
        OR any(name IN p.attributes WHERE name IN search.names)
        OR any(word IN words.lower WHERE any(text IN p.line_texts WHERE replace(toLower(text), 'ß', 'ss') CONTAINS word)
          OR replace(toLower(p.rules), 'ß', 'ss') CONTAINS word)))
RETURN collect([p.ref, p.version, EXISTS { MATCH (c:Client {ref: p.ref}) WHERE c.version = p.version }])
