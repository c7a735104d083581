// name: forget/client/delete_attributes
// purpose: delete attributes and those mapped to them, and unmap names that no longer stand for another
// parameters: gone, unmapped
// scans: Attribute, which ones were mapped to those that go is not indexed
MATCH (a:Attribute)
WHERE a.name IN $gone OR a.canonical IN $gone OR (a.canonical IS NOT NULL AND a.name IN $unmapped)
DETACH DELETE a
