// name: reason/texts/texts_of_versions
// purpose: texts by client and version
// parameters: keys
UNWIND $keys AS key
MATCH (p:ProfileVersion {ref: key[0], version: key[1]})
RETURN collect([p.ref, p.version, p.next_id, p.watermark, p.dropped, p.body])
