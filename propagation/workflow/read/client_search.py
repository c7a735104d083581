"""Search of clients: by id and catalogue, or by lines of profiles."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

from propagation.graph_rules import holds_words, split_words
from propagation.model import Client, ClientKey, ClientKind, Line
from propagation.ports import GraphStore

PROFILES_A_PAGE = 1_000
PROFILES_A_TURN = 50  # of the event loop
BEFORE_ALL = -2
AFTER_EXACT = -1
FindUnlisted = Callable[[Sequence[Client]], Awaitable[Collection[int]]]
"""Finds the clients among some (refs) that the caller may not find."""


@dataclass(frozen=True)
class FoundClient:
    """A client among the results of a search.

    Attributes:
        line: The first line of its profile that has all words; "" in a search of the catalogue.
    """

    client: Client
    line: str = ""


@dataclass(frozen=True)
class FoundPage:
    """One page of a search.

    Attributes:
        next_place: The place at which the next page begins; None on the last page. Places are refs,
            BEFORE_ALL (the first page) and AFTER_EXACT.
    """

    found: Sequence[FoundClient]
    next_place: int | None


async def find_client_of_id(
    store: GraphStore, kind: ClientKind, id_: str, find_unlisted: FindUnlisted
) -> FoundPage:
    """Find the client of exactly this id, if there is one."""
    refs = await store.find_refs([ClientKey(kind=kind, id=id_)])
    clients = await _load_listed(store, [ref for ref in refs if ref is not None], find_unlisted)
    return FoundPage([FoundClient(client) for client in clients], None)


async def search_catalogue(
    store: GraphStore,
    kind: ClientKind,
    text: str,
    place: int,
    size: int,
    find_unlisted: FindUnlisted,
) -> FoundPage:
    """Find clients by id, title, attributes and categories.

    The client whose id is the text comes first; then those of whom each word of the text begins a
    word, by ref.

    Args:
        place: Where the page begins.
        size: How many clients at most. Clients that the caller may not find do not count, so that
            neither a short page nor a token tells of them.
    """
    exact = (await find_client_of_id(store, kind, text, find_unlisted)).found
    first = exact if place == BEFORE_ALL else ()
    words = _leave_out_prefixes(split_words([text]))
    left = size - len(first)
    others: list[Client] = []
    after, is_last = place, not words
    while not is_last and len(others) <= left:
        refs = await store.find_clients_by_words(kind, words, after, size + len(exact) + 1)
        is_last = len(refs) <= size + len(exact)
        after = refs[-1] if refs else after
        listed = await _load_listed(store, refs, find_unlisted)
        others += [client for client in listed if all(client != one.client for one in exact)]
    shown = others[:left]
    following = (shown[-1].ref if shown else AFTER_EXACT) if len(others) > left else None
    return FoundPage([*first, *map(FoundClient, shown)], following)


async def _load_listed(
    store: GraphStore, refs: Sequence[int], find_unlisted: FindUnlisted
) -> list[Client]:
    """Load clients without those that the caller may not find."""
    clients = await store.get_clients(refs)
    unlisted = await find_unlisted(clients)
    return [client for client in clients if client.ref not in unlisted]


def _leave_out_prefixes(words: Sequence[str]) -> list[str]:
    """Leave out words with which another word begins: they find nothing less."""
    return [
        word
        for word in words
        if not any(other != word and other.startswith(word) for other in words)
    ]


async def search_profiles(
    store: GraphStore, kind: ClientKind, text: str, place: int, size: int
) -> FoundPage:
    """Find clients by one line of their current profiles, by ref.

    Each word of the text begins a word of the line or of its attributes. Profiles have no index of
    words, so that commits of texts cost nothing more: a page reads at most PROFILES_A_PAGE of them,
    and may have few clients, or none, though more pages follow.

    Args:
        place: Where the page begins.
        size: How many clients at most.
    """
    words = split_words([text])
    if not words:
        return FoundPage((), None)
    clients = await store.scan_clients(kind, place, PROFILES_A_PAGE)
    texts = await store.load_texts([client.ref for client in clients])
    found: list[FoundClient] = []
    for count, client in enumerate(clients):
        if count % PROFILES_A_TURN == 0:
            await asyncio.sleep(0)
        line = _find_line(words, texts[client.ref].profile.lines) if client.ref in texts else None
        if line is not None:
            found.append(FoundClient(client, line.text))
        if len(found) == size:
            return FoundPage(found, client.ref)
    return FoundPage(found, clients[-1].ref if len(clients) == PROFILES_A_PAGE else None)


def _find_line(words: Sequence[str], lines: Iterable[Line]) -> Line | None:
    return next((line for line in lines if holds_words(words, (line.text, *line.attributes))), None)
