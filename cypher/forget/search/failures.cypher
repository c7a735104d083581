// name: forget/search/failures
// purpose: the reports of failed reasoning
// parameters: none
MATCH (i:DeadLetter)
WHERE i.sequence > 0 AND i.failure <> ''
RETURN collect([i.sequence, i.failure])
