// name: forget/withdrawal/remove_unused_attributes
// purpose: remove attributes that no client holds any more
// parameters: names
// scans: Client, what each holds is looked at
MATCH (c:Client)
WHERE any(name IN c.holds WHERE name IN $names)
SET c.holds = [name IN c.holds WHERE NOT name IN $names]
