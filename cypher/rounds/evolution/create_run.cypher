// name: rounds/evolution/create_run
// purpose: store a run's report and, for a published one, the map through which stored weights are read
// parameters: run, sequence, published, time, report, from_epoch, to_epoch, map
CREATE (:EvolutionRun {run: $run, sequence: $sequence, published: $published, time: $time, report: $report,
                       from_epoch: $from_epoch, to_epoch: $to_epoch, map: $map})
