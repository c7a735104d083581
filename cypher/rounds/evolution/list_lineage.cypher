// name: rounds/evolution/list_lineage
// purpose: all steps of lineage of published runs
// parameters: none
MATCH (before:Router)
WHERE before.number >= 0
CALL (before) {
  MATCH (before)-[s:EVOLVED_INTO]->(after:Router)
  RETURN s.run AS run, after.number AS became, s.kind AS kind
}
RETURN run, before.number, became, kind ORDER BY run, before.number, became
