// name: forget/messages/messages_with_words
// purpose: the messages, with their rounds, that contain one of the words or titles (in lower case; a text with one of `letters` may contain any word), that bring one of the names or whose router stands for one, or whose text was withdrawn before; and, marked by false, the messages of `indebted` routers that only stand for one of `lost`
// parameters: words, titles, names, lost, indebted, letters
// scans: Message, each text is looked at
MATCH (m:Message)
WITH m, replace(toLower(m.text), 'ß', 'ss') AS text, replace(toLower(m.name), 'ß', 'ss') AS name
WITH m, text = '' OR any(title IN $titles WHERE text CONTAINS title) OR any(word IN $words WHERE text CONTAINS word OR name CONTAINS word
  OR any(name IN m.attributes WHERE name CONTAINS word) OR any(name IN m.standing_names WHERE name CONTAINS word))
  OR size($words) + size($titles) > 0 AND any(letter IN $letters WHERE m.text CONTAINS letter OR m.name CONTAINS letter)
  OR any(name IN m.attributes WHERE name IN $names) OR any(name IN m.standing_names WHERE name IN $names) AS names_it
WHERE names_it OR m.router IN $indebted AND any(name IN m.standing_names WHERE name IN $lost)
WITH m, names_it ORDER BY m.router, m.version
RETURN collect([m.router, m.version, m.round, names_it])
