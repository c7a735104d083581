// name: reason/texts/texts_of_versions
// purpose: the versions of texts in ranges, given as [ref, first version, last version]: [ref, first version, rows of a version, next_id, watermark, dropped, body]
// parameters: ranges
UNWIND $ranges AS range
RETURN collect([range[0], range[1], COLLECT {
  MATCH (p:ProfileVersion)
  WHERE p.ref = range[0] AND p.version >= range[1] AND p.version <= range[2]
  RETURN [p.version, p.next_id, p.watermark, p.dropped, p.body] ORDER BY p.version
}])
