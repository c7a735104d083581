// name: forget/client/delete_attributes
// purpose: delete attributes, the attributes mapped to them, and names whose mapping to another attribute ends
// parameters: names, unmapped
// scans: Attribute, which ones were mapped to those that go is not indexed
MATCH (a:Attribute)
WHERE a.name IN $names OR a.canonical IN $names OR (a.canonical IS NOT NULL AND a.name IN $unmapped)
DETACH DELETE a
