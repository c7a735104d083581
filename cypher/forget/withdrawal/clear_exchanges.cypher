// name: forget/withdrawal/clear_exchanges
// purpose: clear what a model was asked about dead letters and answered: any client's text may be quoted
// parameters: none
MATCH (i:DeadLetter)
WHERE i.sequence > 0
REMOVE i.asked, i.answered
