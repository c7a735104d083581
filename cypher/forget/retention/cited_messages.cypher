// name: forget/retention/cited_messages
// purpose: the messages that current lines cite, each once, as `router.version`
// parameters: none
// scans: Line, every current line is looked at
MATCH (l:Line)
UNWIND l.messages AS message
RETURN collect(DISTINCT message)
