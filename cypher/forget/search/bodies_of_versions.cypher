// name: forget/search/bodies_of_versions
// purpose: the bodies of versions of texts: [ref, version, body]
// parameters: keys
UNWIND $keys AS key
MATCH (p:ProfileVersion {ref: key[0], version: key[1]})
RETURN collect([p.ref, p.version, p.body])
