"""The parts of a recommendation's score in words (docs/numbers.md, rule 3)."""

from typing import NamedTuple


class PartWords(NamedTuple):
    """What a part of a score is called.

    Attributes:
        group: The kind of evidence, one of GROUPS.
        name: A few words.
        meaning: What the part measures.
    """

    group: str
    name: str
    meaning: str


GROUPS = {
    "popularity": "how many chose it",
    "texts": "what the item is like, by its text and attributes",
    "together": "what is chosen together with the history",
    "learned": "what people with such a history choose next, learned from all histories",
    "propagation": "what propagation brings: communities and the profile",
}
PARTS = {
    "popularity": PartWords("popularity", "chosen by many", "how many people chose it"),
    "recent": PartWords("popularity", "chosen lately", "how often it is chosen at the moment"),
    "content": PartWords(
        "texts", "like what she chose", "how near its text is to what the user chose before"
    ),
    "attributes": PartWords(
        "texts", "shared attributes", "the attributes that it shares with what the user chose"
    ),
    "adopters": PartWords(
        "texts", "its takers' taste", "how near the people who chose it are to this user's taste"
    ),
    "knn_slow": PartWords(
        "together", "together with the history", "chosen together with the user's history"
    ),
    "knn_fast": PartWords(
        "together", "together with the latest", "chosen together with the user's latest items"
    ),
    "history": PartWords(
        "learned", "next after such a history", "what people with a history like this chose next"
    ),
    "taste": PartWords("learned", "such a taste", "what people of a taste like this user's choose"),
    "lift_session": PartWords(
        "propagation",
        "communities of the moment",
        "what communities with this user's latest interests choose more than others",
    ),
    "lift_taste": PartWords(
        "propagation",
        "communities of taste",
        "what communities of this user's taste choose more than others",
    ),
    "profile": PartWords(
        "propagation",
        "the two profiles",
        "how near the item is to the profile, including what it heard",
    ),
}


def describe_part(feature: str) -> PartWords:
    """Return the words for a feature; of an unknown one, its name."""
    return PARTS.get(feature, PartWords("learned", feature, feature))
