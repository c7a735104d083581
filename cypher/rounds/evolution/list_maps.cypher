// name: rounds/evolution/list_maps
// purpose: the maps of published runs since the newest bootstrap, oldest first
// parameters: none
CALL () {
  MATCH (e:Epoch)
  WHERE e.number >= 0
  RETURN e.era AS era ORDER BY e.number DESC LIMIT 1
}
MATCH (r:EvolutionRun)
WHERE r.run > 0 AND r.published
CALL (r, era) {
  MATCH (e:Epoch {number: r.to_epoch})
  WHERE e.era = era
  RETURN e.number AS epoch
}
RETURN r.run, r.from_epoch, epoch, r.map ORDER BY r.run
