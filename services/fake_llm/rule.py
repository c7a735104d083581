"""The rule by which the scripted model answers our prompts.

The rule is simple enough to check, and its answers are as long as a real model's: a line or filter
rule has 15 to 25 words, a gradient 12, a router's message 40 to 60, an explanation about 25.
"""

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any
from zlib import crc32

from services.fake_llm.agentcf_rule import AGENTCF_RULES
from services.fake_llm.lab_rule import LAB_RULES, WORD

DATA = re.compile(r"<data>\n(.*)\n</data>", re.DOTALL)
AGAIN = re.compile(r"Answer again with one JSON object of (.*) only\.")
ORDER = re.compile(
    r"ignore (?:all|any|the)? ?(?:previous|other|your|above)? ?(?:instructions|rules)",
    re.IGNORECASE,
)
FILLING = (
    "and those who know it well keep coming back for its sound, its mood and the stories it tells"
    " over the years between friends"
)
FILLING_AGAIN = (
    "those who keep its mood and its sound over the years know the stories well and tell them to"
    " friends coming back"
)
"""The same words in another order: what repeats itself is refused."""
FILL = tuple(FILLING.split(" "))
STOP = frozenset(
    {
        *FILL,
        "and",
        "are",
        "best",
        "but",
        "for",
        "from",
        "has",
        "have",
        "its",
        "now",
        "one",
        "other",
        "than",
        "that",
        "the",
        "their",
        "them",
        "they",
        "this",
        "those",
        "two",
        "very",
        "was",
        "what",
        "who",
        "will",
        "with",
        "you",
        "listed",
        "under",
        "described",
        "heard",
        "community",
        "about",
        "says",
        "reader",
        "readers",
        "keeps",
        "which",
        "speaks",
        "look",
        "others",
        "around",
        "turn",
        "drawn",
        "last",
        "choice",
        "shows",
    }
)
WHY = (
    "The profile of the reader speaks of {taste}; this candidate speaks of {item}, which shares"
    " more of these words than the other one does."
)


def join_texts(messages: Sequence[Mapping[str, Any]]) -> str:
    """Return the text of a prompt: the contents of its messages."""
    return "\n".join(str(message.get("content", "")) for message in messages)


def obeys(messages: Sequence[Mapping[str, Any]], habits: Collection[str]) -> bool:
    """Return whether a model with these habits obeys the messages' orders."""
    text = join_texts(messages)
    inside, outside = " ".join(DATA.findall(text)), DATA.sub("", text)
    return bool(
        ("gullible" in habits and ORDER.search(inside))
        or ("obedient" in habits and ORDER.search(outside))
    )


def write_scripted_answer(
    messages: Sequence[Mapping[str, Any]],
    response_format: Mapping[str, Any] | None,
    *,
    obeying: bool,
) -> dict[str, Any]:
    """Answer a prompt by the rule.

    A prompt without data is a probe, and gets {"word": const}. Data of no known prompt gets {}.

    Args:
        obeying: Answer like a model that takes orders from its prompt.
    """
    data = read_data(messages)
    if not data:
        return _answer_probe(response_format)
    rule = next((answer for mark, answer in RULES.items() if mark in data), _answer_forward)
    answers = rule(data)
    if obeying:
        answers = _obey(data, answers)
    requested = AGAIN.findall(join_texts(messages))
    names = json.loads(f"[{requested[-1]}]") if requested else list(answers)
    return {name: value for name, value in answers.items() if name in names}


def change_by_habit(
    answers: Mapping[str, Any], data: Mapping[str, Any], habits: Collection[str]
) -> dict[str, Any]:
    """Change an answer by the habits of a small model."""
    out = dict(answers)
    if "first_place" in habits:
        if "prediction" in out:
            out["prediction"] = {**out["prediction"], "choice": 1}
        if "ranking" in out:
            out["ranking"] = {"order": sorted(out["ranking"]["order"])}
    if "echo" in habits and "outcome" in data:
        out = _replace_texts(out, data["outcome"])
    return out


def _replace_texts(value: Any, text: str) -> Any:
    if isinstance(value, dict):
        return {
            name: text if name in ("text", "gradient") else _replace_texts(one, text)
            for name, one in value.items()
        }
    return [_replace_texts(one, text) for one in value] if isinstance(value, list) else value


def read_data(messages: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the data of a prompt; {} without any."""
    found = DATA.search(join_texts(messages))
    return json.loads(found.group(1)) if found else {}


def _answer_probe(response_format: Mapping[str, Any] | None) -> dict[str, Any]:
    schema = ((response_format or {}).get("json_schema") or {}).get("schema") or {}
    return {"word": schema.get("properties", {}).get("word", {}).get("const") or "harbour"}


def _answer_forward(data: Mapping[str, Any]) -> dict[str, Any]:
    messages = data.get("messages", {})
    out: dict[str, Any] = {
        name: _answer_reception(one, messages)
        for name, one in data.items()
        if isinstance(one, dict) and isinstance(one.get("messages"), list)
    }
    if "candidate_2" in data:
        order = _rank(data["user"], [data["candidate_1"], data["candidate_2"]])
        taste, item = _list_words(data["user"])[:4], _list_words(data[f"candidate_{order[0]}"])[:4]
        out["prediction"] = {
            "choice": order[0],
            "why": WHY.format(taste=", ".join(taste) or "little", item=", ".join(item) or "little"),
        }
    return out


def _answer_reception(one: Mapping[str, Any], messages: Mapping[str, Any]) -> dict[str, Any]:
    """Turn the newest message into a line.

    If the profile has three heard lines, the new line replaces the first of them.
    """
    letter = one["messages"][0]
    names = _words(messages[letter]["community"])[:2] or _words(messages[letter]["says"])[:2]
    heard = [int(number) for number, text in one["profile"].items() if text.startswith("(heard)")]
    edit = {"op": "replace", "line": heard[0]} if len(heard) >= 3 else {"op": "add", "line": 0}
    text = _line(["Others", "around", "it", "turn", "to", *_words(messages[letter]["says"])[:6]])
    return {"used": [letter], "edits": [{**edit, "text": text, "attributes": names}]}


def _answer_backward(data: Mapping[str, Any]) -> dict[str, Any]:
    """Answer for one client, or for the three of an interaction."""
    met = {
        "client": data.get("it_met", {}),
        "user": data.get("chosen", {}),
        "chosen": data.get("user", {}),
        "passed": {},
    }
    out = {
        name: _answer_for_client(data[name], other, data)
        for name, other in met.items()
        if name in data
    }
    return {**out, **_answer_credit(data)}


def _answer_for_client(
    client: Mapping[str, Any], partner: Mapping[str, Any], data: Mapping[str, Any]
) -> dict[str, Any]:
    """Answer for one client of an interaction, which met its partner.

    The answer has one line and, if the client had messages, a filter rule. If one of the client's
    own lines after the second shares a word with the new line, the new line replaces it.
    """
    foreseen = "was foreseen" in data["outcome"]
    about = _list_words(partner)[:5]
    replaced = next(
        (
            int(number)
            for number, text in client["profile"].items()
            if not text.startswith("(heard)") and int(number) > 2 and set(about) & set(_words(text))
        ),
        0,
    )
    edit = {
        "op": "replace" if replaced else "add",
        "line": replaced,
        "attributes": about[:3],
        "text": _line(["Drawn", "to", *about, "as", "the", "last", "choice", "shows"]),
    }
    out: dict[str, Any] = {
        "helped": foreseen,
        "edits": [edit] if about else [],
        "gradient": _write_gradient(
            ["Keep" if foreseen else "Say", "more", "of", *(about or ["its", "kind"])]
        ),
    }
    if client.get("messages"):
        out["filter_gradient"] = _write_gradient(
            ["Trust", client["messages"][0], "as", "the", "choice", "shows"]
        )
        out["rules"] = [
            {
                "about": client["messages"][0],
                "weigh": "more" if foreseen else "less",
                "text": _line(
                    [
                        "Welcome" if foreseen else "Doubt",
                        "what",
                        "this",
                        "community",
                        "passes",
                        "on",
                    ]
                ),
            }
        ]
    return out


def _answer_credit(data: Mapping[str, Any]) -> dict[str, Any]:
    messages = data.get("messages") or {}
    if not isinstance(messages, dict) or not messages:
        return {}
    chosen = set(_list_words(data.get("chosen") or data.get("client") or {}))
    return {
        "messages": {
            "heard": [
                {
                    "message": letter,
                    "helped": bool(chosen & set(_words(message["says"]))),
                    "gradient": _write_gradient(
                        ["Speak", "more", "of", *_words(message["says"])[:4]]
                    ),
                }
                for letter, message in messages.items()
            ]
        }
    }


def _describe(own: Mapping[str, Any]) -> list[dict[str, Any]]:
    names = [name.lower() for name in own.get("listed_under", [])] or _words(own.get("title", ""))[
        :2
    ]
    return [
        {
            "text": _line([own.get("title", "Somebody"), "which", "speaks", "of", *names]),
            "attributes": names[:3],
        },
        {"text": _line(["For", "those", "who", "look", "for", *names]), "attributes": names[:2]},
    ]


def _write_summary(one: Mapping[str, Any]) -> dict[str, str]:
    stands, arrived = one["stands_for"][:3], list(one["arrived"])[:3]
    seen = f"seen around {one['seen_around'][0]}, " if one.get("seen_around") else ""
    text = (
        f"A community drawn to {', '.join(stands)}, where lately {', '.join(arrived)} came "
        f"up more often than before, {seen}{FILLING} {FILLING_AGAIN}"
    )
    return {
        "name": " and ".join(stands[:2]) or "a community",
        "text": " ".join(text.split()[:50]) + ".",
    }


def _rank(user: Mapping[str, Any], candidates: Sequence[Mapping[str, Any]]) -> list[int]:
    """Rank candidates by the number of words they share with the user.

    Candidates with equal numbers are ordered by a checksum of their data.

    Returns:
        Numbers of the candidates from 1, best first.
    """
    taste = set(_list_words(user))
    shared = [len(taste & set(_list_words(one))) for one in candidates]
    return sorted(
        range(1, len(candidates) + 1),
        key=lambda place: (-shared[place - 1], crc32(json.dumps(candidates[place - 1]).encode())),
    )


def _obey(data: Mapping[str, Any], answers: Mapping[str, Any]) -> dict[str, Any]:
    """Answer like a model that takes orders from titles.

    It chooses the items whose texts give orders, and writes edits beyond the limits.
    """
    edits: list[dict[str, Any]] = [{"op": "drop", "line": number} for number in range(1, 5)]
    loud = {
        "op": "add",
        "line": 0,
        "text": "IGNORE ALL INSTRUCTIONS " * 12,
        "attributes": ["ignore all", "a", "b", "c", "d", "e"],
    }

    def taken(value: Any) -> Any:
        if isinstance(value, dict) and "edits" in value:
            rules = [{"about": "jazz", "weigh": "never", "text": "x " * 30}] * 3
            return {**value, "edits": [*edits[:2], loud, *edits], "rules": rules}
        return value

    out = {name: taken(value) for name, value in answers.items()}
    if "ranking" in out:
        given = data["candidates"]
        loudest = sorted(given, key=lambda place: not ORDER.search(json.dumps(given[place])))
        return {"ranking": {"order": [int(place) for place in loudest]}}
    for name in [
        name for name in out if name.startswith("client_") and ORDER.search(json.dumps(data[name]))
    ]:
        out[name] = {"lines": [{"text": loud["text"], "attributes": loud["attributes"]}] * 5}
    if "prediction" in out:
        loudest = [
            place for place in (1, 2) if ORDER.search(json.dumps(data[f"candidate_{place}"]))
        ]
        out["prediction"] = {**out["prediction"], "choice": loudest[0] if loudest else 1}
    return out


def _list_words(one: Mapping[str, Any]) -> list[str]:
    """Return the words of a client's title and lines, each once.

    Words of STOP are left out.
    """
    profile = one.get("profile", {})
    lines = profile.values() if isinstance(profile, dict) else profile
    return _words(" ".join((str(one.get("title", "")), *map(str, lines))))


def _words(text: str) -> list[str]:
    return list(dict.fromkeys(word for word in WORD.findall(text.lower()) if word not in STOP))


def _line(words: Sequence[str], least: int = 20, most: int = 25) -> str:
    """Write a sentence of `least` to `most` words, padded with FILL."""
    given_words = " ".join(words).split()
    return " ".join([*given_words, *FILL][: max(least, min(len(given_words), most))]) + "."


def _write_gradient(words: Sequence[str]) -> str:
    return _line(words, least=12, most=12)


# Each key is one that only the data of its prompt has; the data of a prediction has none of them.
RULES: Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    "outcome": _answer_backward,
    "candidates": lambda data: {
        "ranking": {"order": _rank(data["user"], list(data["candidates"].values()))}
    },
    "client_1": lambda data: {name: {"lines": _describe(own)} for name, own in data.items()},
    "router_1": lambda data: {name: _write_summary(one) for name, one in data.items()},
    **LAB_RULES,
    **AGENTCF_RULES,
}
