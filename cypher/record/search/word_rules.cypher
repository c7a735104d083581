// name: record/search/word_rules
// purpose: the name of the rules that made the words of clients
// parameters: none
MATCH (m:Meta {of: 'propagation'})
RETURN m.word_rules
