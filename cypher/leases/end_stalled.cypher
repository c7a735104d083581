// name: leases/end_stalled
// purpose: end what processes that show no life any more have had open for so long (milliseconds), and with it the locks that they hold
// parameters: database, alive, longer
SHOW TRANSACTIONS
YIELD transactionId AS open, database AS home, metaData AS told, elapsedTime AS since
WHERE home = toLower($database) AND told.propagation_process IS NOT NULL AND NOT told.propagation_process IN $alive AND since.milliseconds > $longer
TERMINATE TRANSACTIONS open
YIELD message
RETURN count(message)
