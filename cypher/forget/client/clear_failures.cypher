// name: forget/client/clear_failures
// purpose: clear the reports of failed reasoning that contain one of the words
// parameters: words
MATCH (i:DeadLetter)
WHERE i.sequence > 0 AND any(word IN $words WHERE i.failure CONTAINS word)
SET i.failure = ''
