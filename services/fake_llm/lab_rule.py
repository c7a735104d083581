"""The rule by which the scripted model answers the laboratory's prompts.

It takes what shares most words with the user's history.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from zlib import crc32

LISTED = 5
WORD = re.compile(r"[a-z0-9&'-]{3,}")


def _count_shared(history: Sequence[str], text: str) -> int:
    known = {word for one in history for word in WORD.findall(one.lower())}
    return len(known & set(WORD.findall(text.lower())))


def _order(history: Sequence[str], items: Mapping[str, str]) -> list[int]:
    """Order numbered items by shared words, then by a checksum."""
    return sorted(
        map(int, items),
        key=lambda number: (
            -_count_shared(history, items[str(number)]),
            crc32(items[str(number)].encode()),
        ),
    )


def _recommend(data: Mapping[str, Any]) -> dict[str, Any]:
    """Recommend the first item that no earlier round has."""
    told = " ".join(data.get("earlier_rounds", ()))
    order = _order(data["history"], data["choose_from"])
    item = next((one for one in order if data["choose_from"][str(one)] not in told), order[0])
    return {
        "recommendation": {
            "reason": "It shares more words with what this user chose before than the others do.",
            "item": item,
        }
    }


def _list(data: Mapping[str, Any]) -> dict[str, Any]:
    reason = "These share more words with what this user chose before than the others do."
    return {
        "shortlist": {
            "reason": reason,
            "items": _order(data["history"], data["list_from"])[:LISTED],
        }
    }


def _pick(data: Mapping[str, Any]) -> dict[str, Any]:
    item = _order(data["history"], data["pick_from"])[0]
    return {"recommendation": {"reason": "It has most of what I chose before.", "item": item}}


def _decide(data: Mapping[str, Any]) -> dict[str, Any]:
    likes = _count_shared(data["history"], data["recommended"]) > 0
    reason = (
        "It has much of what I chose before." if likes else "Nothing I chose before is like it."
    )
    return {"decision": {"reason": reason, "decision": "yes" if likes else "no"}}


def _select(data: Mapping[str, Any]) -> dict[str, Any]:
    """Select the clients that share most words with the changed one."""
    order = _order(
        [str(data["changed"])], {number: str(one) for number, one in data["may_hear"].items()}
    )
    return {"receivers": {"chosen": order[: data["choose"]]}}


def _write_to_clients(data: Mapping[str, Any]) -> dict[str, Any]:
    """Write the first two lines of the changed client's profile."""
    return {"letter": {"text": " ".join(data["changed"]["profile"][:2])}}


LAB_RULES: Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    "choose_from": _recommend,
    "list_from": _list,
    "pick_from": _pick,
    "recommended": _decide,
    "items_to_rank": lambda data: {
        "ranking": {"order": _order(data["history"], data["items_to_rank"])}
    },
    "may_hear": _select,
    "will_hear": _write_to_clients,
}
"""By a key that only the data of this prompt has."""
LAB_MARKS = {
    "choose_from": "afl_recommend",
    "list_from": "afl_list",
    "pick_from": "afl_pick",
    "because": "afl_decide",
    "recommended": "afl_like",
    "items_to_rank": "llmrank",
    "may_hear": "select_receivers",
    "will_hear": "write_to_clients",
}
"""The prompts' names in statistics, by such a key; the first one that is found counts."""
