"""Check of the attributes that clients hold, and of their counts.

Both can be made again: the last round wrote them from the texts. A wrong count would let an
attribute of too few users travel.
"""

from collections import Counter
from collections.abc import Sequence
from itertools import islice

from propagation.model import ClientKind, get_kind, split_into_batches
from propagation.ports import GraphStore
from propagation.routing import list_own_attributes, to_canonical

MOST_FINDINGS, MOST_NAMED = 5, 6
CLIENTS_A_READ = 2_000
LAST_SEQUENCE = 2**62


async def find_wrong_holders(store: GraphStore) -> list[str]:
    """Compare attributes and their counts with the texts; return faults.

    A text that changed since the last round says nothing about it, and is left out.

    Returns:
        A sentence for each fault, at most five of a kind.
    """
    last = await store.get_last_round()
    attributes = {one.name: one for one in await store.get_all_attributes()}
    canonical = {name: one.canonical for name, one in attributes.items() if one.canonical}
    # A dead letter that was tried again during the round may have written at its boundary.
    changed = await store.find_changed_clients(last.boundary - 1, LAST_SEQUENCE) if last else ()
    unsettled = frozenset(changed)
    holders: Counter[str] = Counter()
    users: Counter[str] = Counter()
    strange = []
    for refs in split_into_batches(sorted(await store.get_text_versions()), CLIENTS_A_READ):
        held = await store.get_client_attributes(refs)
        for ref, names in held.items():
            holders.update(names)
            if get_kind(ref) == ClientKind.USER:
                users.update(names)
        settled = [ref for ref in refs if ref not in unsettled] if last else []
        for ref, text in (await store.load_texts(settled)).items():
            names = to_canonical(list_own_attributes(text), canonical)
            if names != tuple(held[ref]):
                strange.append(
                    f"client {ref} holds the attributes {_quote(held[ref])}, but its text"
                    f" names {_quote(names)}"
                )
    return [
        *strange[:MOST_FINDINGS],
        *islice(
            (
                f"attribute {name!r}, which {count} clients hold, is missing"
                for name, count in sorted(holders.items())
                if name not in attributes
            ),
            MOST_FINDINGS,
        ),
        *islice(
            (
                f"attribute {name!r} counts {one.holders} holders, {one.users} of them users, but"
                f" {holders[name]} clients hold it, {users[name]} of them users"
                for name, one in attributes.items()
                if (one.holders, one.users) != (holders[name], users[name])
            ),
            MOST_FINDINGS,
        ),
    ]


def _quote(names: Sequence[str]) -> str:
    """Join names for a sentence; only the first ones."""
    shown = [repr(name) for name in names[:MOST_NAMED]]
    more = [f"{len(names) - MOST_NAMED} more"] if len(names) > MOST_NAMED else []
    return " and ".join([", ".join(shown), *more]) if names else "none"
