// name: forget/messages/messages_with_words
// purpose: the messages that contain one of the words or titles, that bring one of the names or whose routers stand for it, and those whose text was withdrawn before
// parameters: words, titles, names
// scans: Message, each text is looked at
MATCH (m:Message)
WHERE m.text = '' OR any(title IN $titles WHERE m.text CONTAINS title) OR any(word IN $words WHERE m.text CONTAINS word OR m.name CONTAINS word
  OR any(name IN m.attributes WHERE name CONTAINS word) OR any(name IN m.standing_names WHERE name CONTAINS word))
  OR any(name IN m.attributes WHERE name IN $names) OR any(name IN m.standing_names WHERE name IN $names)
RETURN collect([m.router, m.version])
