// name: record/search/set_words
// purpose: set the words by which clients are found, of clients that have not changed since they were read
// parameters: rows
UNWIND $rows AS row
MATCH (c:Client {ref: row[0]})
WHERE c.sequence = row[1]
SET c.words = row[2]
