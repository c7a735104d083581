// name: connection/await_indexes
// purpose: wait until new indexes are filled
// parameters: seconds
CALL db.awaitIndexes($seconds)
