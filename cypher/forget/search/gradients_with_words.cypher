// name: forget/search/gradients_with_words
// purpose: the gradients that may contain one of the words, with their texts and attributes: those in which the server finds a word, and those with a letter beyond ASCII, because the server knows too few pairs of upper and lower case
// parameters: modules, words
UNWIND $modules AS module
MATCH (g:Gradient)
WHERE g.module = module AND g.sequence > -1 AND g.owner > -1
  AND (any(word IN $words WHERE toLower(g.text) CONTAINS word OR word IN g.attributes) OR g.text =~ '(?s).*[^\\x00-\\x7F].*')
RETURN collect([elementId(g), g.text, g.attributes])
