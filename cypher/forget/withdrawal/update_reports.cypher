// name: forget/withdrawal/update_reports
// purpose: store reports of evolutions again, without the withdrawn words
// parameters: rows
UNWIND $rows AS row
MATCH (e:EvolutionRun {run: row[0]})
SET e.report = row[1]
