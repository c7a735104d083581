"""Words of four letters and more that tell nothing of a text's subject."""

COMMON = frozenset([
    "about", "above", "after", "again", "against", "album", "all", "along", "also", "although", "always", "among", "another",
    "anyone", "anything", "around", "away", "back", "based", "became", "because", "become", "becomes", "been", "before",
    "begin", "begins", "behind", "being", "best", "best-selling", "between", "beyond", "book", "books", "both", "bring",
    "brings", "called", "came", "chapter", "collection", "come", "comes", "complete", "could", "deluxe", "directed", "disc",
    "does", "doing", "done", "down", "during", "each", "edition", "either", "else", "even", "ever", "every", "everyone",
    "everything", "face", "faces", "features", "featuring", "film", "films", "final", "find", "finds", "first", "follow",
    "following", "follows", "forever", "found", "from", "full", "gets", "give", "given", "gives", "goes", "gone", "good",
    "great", "greatest", "have", "having", "help", "helps", "here", "herself", "himself", "hits", "however", "includes", "into",
    "itself", "just", "keep", "keeps", "know", "known", "last", "later", "least", "leave", "leaves", "less", "life", "like",
    "limited", "little", "live", "lives", "long", "look", "looking", "looks", "made", "make", "makes", "making", "many", "meet",
    "meets", "might", "more", "most", "movie", "movies", "much", "must", "near", "need", "needs", "never", "next", "nothing",
    "novel", "often", "once", "only", "original", "other", "others", "over", "part", "parts", "people", "place", "plot",
    "product", "quite", "rather", "really", "remastered", "return", "returns", "same", "season", "second", "seem", "seems",
    "series", "set", "several", "shall", "should", "show", "shows", "since", "some", "someone", "something", "soon",
    "soundtrack", "special", "starring", "stars", "start", "starts", "still", "stories", "story", "such", "take", "takes",
    "tell", "telling", "tells", "than", "that", "their", "them", "themselves", "then", "there", "these", "they", "thing",
    "things", "think", "this", "those", "though", "three", "through", "together", "told", "took", "toward", "towards", "tries",
    "trying", "turn", "turned", "turns", "under", "until", "upon", "used", "using", "very", "volume", "want", "wants", "well",
    "went", "were", "what", "when", "where", "whether", "which", "while", "whole", "whom", "whose", "will", "with", "within",
    "without", "work", "works", "world", "would", "written", "year", "years", "your",
])
