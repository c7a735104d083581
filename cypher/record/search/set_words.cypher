// name: record/search/set_words
// purpose: set the words by which clients are found
// parameters: rows
UNWIND $rows AS row
MATCH (c:Client {ref: row[0]})
SET c.words = row[1]
