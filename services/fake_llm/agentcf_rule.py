"""The rule by which the scripted model answers AgentCF's prompts.

Users take what shares most words with their memory; memories take up words of what was liked.
"""

from collections.abc import Callable, Mapping
from typing import Any
from zlib import crc32

from services.fake_llm.lab_rule import WORD

MOST_WORDS = 40
LONG = 8
"""Letters; longer words of a preference tell it from others."""
PLAIN = frozenset(
    {"and", "for", "listed", "people", "the", "this", "those", "under", "who", "with"}
)


def _list_words(value: Any) -> list[str]:
    """List the words of all texts in some data, each once."""
    if isinstance(value, str):
        words = WORD.findall(value.lower())
    else:
        inner = value.values() if isinstance(value, Mapping) else value
        words = [word for one in inner for word in _list_words(one)]
    return [word for word in dict.fromkeys(words) if word not in PLAIN]


def _rank(user: Any, items: Mapping[str, Any]) -> list[str]:
    """Order items by shared words, then by a checksum."""
    known = set(_list_words(user))
    return sorted(
        items,
        key=lambda name: (
            -len(known & set(_list_words(items[name]))),
            crc32(repr(items[name]).encode()),
        ),
    )


def _choose(data: Mapping[str, Any]) -> dict[str, Any]:
    best = _rank(data["user"], {"1": data["first_item"], "2": data["second_item"]})[0]
    explanation = "It shares more words with what this user enjoys than the other item does."
    return {"selection": {"choice": int(best), "explanation": explanation}}


def _reflect(data: Mapping[str, Any]) -> dict[str, Any]:
    liked, user = _list_words(data["liked_item"]), _list_words(data["user"])
    mine = dict.fromkeys([*liked, *user])
    its = dict.fromkeys([*_list_words(data["liked_item"].get("description", "")), *user])
    return {
        "user_reflection": {"memory": f"I enjoy {', '.join([*mine][:MOST_WORDS])}."},
        "item_reflection": {"memory": f"Liked for {', '.join([*its][:MOST_WORDS])}."},
    }


def _recommend(data: Mapping[str, Any]) -> dict[str, Any]:
    order = _rank(data["user"], data["candidate_items"])
    return {"recommendation": {"order": [int(number) for number in order]}}


def _review(data: Mapping[str, Any]) -> dict[str, Any]:
    liked = ", ".join(_list_words(data["reviewed_item"])[:5])
    return {"written": {"review": f"What I have to say about it concerns {liked}."}}


def _decide(data: Mapping[str, Any]) -> dict[str, Any]:
    """Take what shares a word with the memory, or its reviewer."""
    known = set(_list_words(data["person"]))
    shared = known & set(_list_words([data["offered_item"], data.get("review_by", {})]))
    return {
        "decided": {"takes": "yes" if shared else "no", "explanation": ", ".join(sorted(shared))}
    }


def _learn(data: Mapping[str, Any]) -> dict[str, Any]:
    words = dict.fromkeys([*_list_words(data["new_item"]), *_list_words(data["popular_item"])])
    return {"learned": {"memory": f"Suits those who like {', '.join([*words][:MOST_WORDS])}."}}


def _express(data: Mapping[str, Any]) -> dict[str, Any]:
    """Say yes if the introduction has a long word of the preference."""
    words = [word for word in _list_words(data["preference"]) if len(word) > LONG]
    known = set(_list_words(data["person"]))
    return {"expressed": {"has_it": "yes" if known.intersection(words) else "no"}}


def _draft(data: Mapping[str, Any]) -> dict[str, Any]:
    words = ", ".join(_list_words(data["advertised_item"])[:5])
    return {"drafted": {"advertisement": f"Come and find out about {words}."}}


def _criticise(data: Mapping[str, Any]) -> dict[str, Any]:
    words = ", ".join(_list_words(data["advertised_item"])[-5:])
    return {"criticised": {"critique": f"The draft could say more about {words}."}}


def _revise(data: Mapping[str, Any]) -> dict[str, Any]:
    words = dict.fromkeys([*_list_words(data["draft"]), *_list_words(data["critiques"])])
    return {"revised": {"advertisement": f"Come for {', '.join([*words][:MOST_WORDS])}."}}


def _prefer(data: Mapping[str, Any]) -> dict[str, Any]:
    shown = {"1": data["first_advertisement"], "2": data["second_advertisement"]}
    return {"preferred": {"choice": int(_rank(data["person"], shown)[0])}}


AGENTCF_RULES: Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    "first_item": _choose,
    "liked_item": _reflect,
    "candidate_items": _recommend,
    "reviewed_item": _review,
    "offered_item": _decide,
    "new_item": _learn,
    "preference": _express,
    "first_advertisement": _prefer,
    "critiques": _revise,
    "draft": _criticise,
    "advertised_item": _draft,
}
"""By a key that only the data of this prompt has; of several, the first one counts."""
AGENTCF_MARKS = {
    "first_item": "agentcf_choose",
    "liked_item": "agentcf_reflect",
    "candidate_items": "agentcf_rank",
    "reviewed_item": "agentcf_review",
    "offered_item": "agentcf_decide",
    "new_item": "agentcf_learn",
    "preference": "agentcf_express",
    "first_advertisement": "agentcf_choose_advertisement",
    "critiques": "agentcf_revise",
    "draft": "agentcf_criticise",
    "advertised_item": "agentcf_draft",
}
"""The prompts' names in statistics, by such a key."""
