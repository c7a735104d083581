// name: rounds/messages/parts_of_message
// purpose: the parts of a published message, in order
// parameters: router, version
MATCH (m:Message {router: $router, version: $version})<-[t:INTEGRATED_INTO]-(a:Attribute)
RETURN a.name, t.ref, t.profile_version, t.sequence ORDER BY t.place
