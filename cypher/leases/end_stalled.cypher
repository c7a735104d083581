// name: leases/end_stalled
// purpose: end what processes that show no life have had open for so long (milliseconds), and with it the locks that they hold
// parameters: silent, longer
SHOW TRANSACTIONS
YIELD transactionId AS open, metaData AS told, elapsedTime AS since, status AS standing
WHERE told.propagation_process IN $silent AND since.milliseconds > $longer AND NOT standing STARTS WITH 'Terminated'
TERMINATE TRANSACTIONS open
YIELD message
RETURN count(message)
