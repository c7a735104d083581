// name: forget/withdrawal/clear_failures
// purpose: clear reports of failed reasoning
// parameters: sequences
MATCH (i:DeadLetter)
WHERE i.sequence IN $sequences
SET i.failure = ''
