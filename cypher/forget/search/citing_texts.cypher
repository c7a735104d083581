// name: forget/search/citing_texts
// purpose: the versions of texts that searches cover and that cite one of the sequences or messages, or hold a word: as reason/texts/current_texts returns them, and whether it is the current one. A search is of one client, from `first` or from what was written at one of `at`, whichever is earlier, for as long as the texts cite or hold something, and at least to `last` and those; an endless one is of all versions, and one for `all` of all from its first one on. `evidence` is the sequences as rules write them; all words are in lower case, and `escaped` is them as JSON writes them. `lost` has, by message, the attributes (null: any) and words (in lower case) of which a line that cites it needs one. A text with one of `letters` holds every word in lower case
// parameters: searches, sequences, evidence, words, escaped, message_routers, lost, rule_words, letters
UNWIND $searches AS search
CALL (search) {
  UNWIND search.at AS sequence
  // What was reasoned late was written at the sequence of another interaction; if that was erased, it has moved.
  OPTIONAL MATCH (i:Interaction {sequence: sequence})
  WHERE i.reasoned <> sequence
  OPTIONAL MATCH (w:ProfileVersion)
  WHERE w.sequence = sequence AND w.ref = search.ref
  RETURN min(CASE WHEN i IS NULL THEN w.version ELSE 0 END) AS written, max(w.version) AS rewritten, count(i) > 0 AS late
}
WITH search, CASE WHEN written < search.first OR search.first IS NULL THEN written ELSE search.first END AS first,
  CASE WHEN search.endless OR search.all OR late THEN null WHEN rewritten > search.last OR search.last IS NULL THEN rewritten ELSE search.last END AS last
// The first version after `last` that neither cites nor holds anything, unless a withdrawal rewrote it: what left a text does not come back, but a rewritten version may have lost what later ones have.
CALL (search, last) {
  MATCH (p:ProfileVersion)
  WHERE p.ref = search.ref AND p.version > last AND p.rewritten IS NULL AND NOT any(sequence IN p.source_sequences WHERE sequence IN $sequences)
  WITH p, p.source_routers AS routers, p.source_versions AS versions
  WHERE NOT any(place IN range(0, size(routers) - 1) WHERE $lost[toString(routers[place] * 4294967296 + versions[place])] IS NOT NULL)
    AND NOT (size($evidence) > 0 AND p.rules IS NOT NULL AND any(token IN split(p.rules, [',', '[', ']']) WHERE token IN $evidence))
    AND NOT any(word IN $words WHERE any(text IN p.line_texts + p.attributes WHERE replace(toLower(text), 'ß', 'ss') CONTAINS word))
    AND NOT (size($words) > 0 AND any(letter IN $letters WHERE any(text IN p.line_texts WHERE text CONTAINS letter)))
    AND NOT (p.rules IS NOT NULL AND any(word IN $escaped WHERE replace(toLower(p.rules), 'ß', 'ss') CONTAINS word))
    AND NOT (size($rule_words) > 0 AND p.rules IS NOT NULL
      AND (any(word IN $rule_words WHERE replace(toLower(p.rules), 'ß', 'ss') CONTAINS word) OR any(letter IN $letters WHERE p.rules CONTAINS letter)))
  WITH p ORDER BY p.ref, p.version LIMIT 1
  RETURN min(p.version) AS stop
}
MATCH (p:ProfileVersion)
WHERE p.ref = search.ref AND p.version >= first AND p.version < coalesce(stop, 4611686018427387904)
// Lists have names: the server would read a property again for each place of a list.
WITH search, p, p.source_routers AS routers, p.source_versions AS versions
WITH search, p, CASE WHEN any(router IN routers WHERE router IN $message_routers)
  THEN [place IN range(0, size(routers) - 1) WHERE $lost[toString(routers[place] * 4294967296 + versions[place])] IS NOT NULL
    | [p.source_lines[place], $lost[toString(routers[place] * 4294967296 + versions[place])]]]
  ELSE [] END AS cited
WITH search, p, cited, CASE cited WHEN [] THEN [] ELSE p.attribute_lines END AS attribute_lines, CASE cited WHEN [] THEN [] ELSE p.attributes END AS attributes
WHERE search.all
  OR any(sequence IN p.source_sequences WHERE sequence IN $sequences)
  OR any(one IN cited
         WHERE one[1].names IS NULL
           OR any(at IN range(0, size(attribute_lines) - 1) WHERE attribute_lines[at] = one[0] AND attributes[at] IN one[1].names)
           OR any(at IN range(0, size(p.line_ids) - 1) WHERE p.line_ids[at] = one[0]
                AND (any(word IN one[1].words WHERE replace(toLower(p.line_texts[at]), 'ß', 'ss') CONTAINS word)
                  OR size(one[1].words) > 0 AND any(letter IN $letters WHERE p.line_texts[at] CONTAINS letter))))
  OR size($evidence) > 0 AND p.rules IS NOT NULL AND any(token IN split(p.rules, [',', '[', ']']) WHERE token IN $evidence)
  OR any(word IN $words WHERE any(text IN p.line_texts + p.attributes WHERE replace(toLower(text), 'ß', 'ss') CONTAINS word))
  OR size($words) > 0 AND any(letter IN $letters WHERE any(text IN p.line_texts WHERE text CONTAINS letter))
  OR any(word IN $escaped WHERE replace(toLower(p.rules), 'ß', 'ss') CONTAINS word)
  OR size($rule_words) > 0 AND p.rules IS NOT NULL
    AND (any(word IN $rule_words WHERE replace(toLower(p.rules), 'ß', 'ss') CONTAINS word) OR any(letter IN $letters WHERE p.rules CONTAINS letter))
RETURN collect([p.ref, p.version, p.next_id, p.watermark, p.dropped, p.line_ids, p.line_texts, p.line_weights, p.line_authors,
  p.attribute_lines, p.attributes, p.source_lines, p.source_sequences, p.source_routers, p.source_versions, p.rules,
  EXISTS { MATCH (c:Client {ref: p.ref}) WHERE c.version = p.version }])
