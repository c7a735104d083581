// name: forget/withdrawal/clear_failures
// purpose: clear the reports of failed reasoning that contain one of the words, in either case of letters
// parameters: words
MATCH (i:DeadLetter)
WHERE i.sequence > 0 AND any(word IN $words WHERE toLower(i.failure) CONTAINS toLower(word))
SET i.failure = ''
