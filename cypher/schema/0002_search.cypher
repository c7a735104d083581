// name: schema/0002_search
// purpose: the index of the words by which clients are found, and one of log entries by kind
// parameters: none
CREATE FULLTEXT INDEX user_words IF NOT EXISTS FOR (u:User) ON EACH [u.words] OPTIONS {indexConfig: {`fulltext.analyzer`: 'whitespace'}};
CREATE FULLTEXT INDEX item_words IF NOT EXISTS FOR (i:Item) ON EACH [i.words] OPTIONS {indexConfig: {`fulltext.analyzer`: 'whitespace'}};
CREATE INDEX log_entry_kind IF NOT EXISTS FOR (e:LogEntry) ON (e.kind, e.sequence);
