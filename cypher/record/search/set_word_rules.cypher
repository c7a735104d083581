// name: record/search/set_word_rules
// purpose: set the name of the rules that made the words of clients
// parameters: rules
MATCH (m:Meta {of: 'propagation'})
SET m.word_rules = $rules
