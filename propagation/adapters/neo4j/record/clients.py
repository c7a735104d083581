"""Clients by ref and by id (ClientStore)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import orjson

from propagation.adapters.neo4j.connection import StorePart, Transaction, join_words
from propagation.graph_rules import NamedClient, list_words_of
from propagation.model import Client, ClientKey, ClientKind, get_kind

USER, ITEM = ClientKind.USER, ClientKind.ITEM
SCANS = {USER: "record/clients/list_users", ITEM: "record/clients/list_items"}
COUNTS = {USER: "record/clients/count_users", ITEM: "record/clients/count_items"}
CREATES = {USER: "record/clients/create_users", ITEM: "record/clients/create_items"}
SEARCHES = {USER: "record/search/users_with_words", ITEM: "record/search/items_with_words"}
Refs = dict[NamedClient, int]


class Neo4jClients(StorePart):
    """Reads clients from the server each time, because other processes change them."""

    async def find_refs(self, keys: Sequence[ClientKey]) -> Sequence[int | None]:
        named = [(key.kind, key.id) for key in keys]
        row = await self._database.row("record/clients/client_refs", **group_ids_by_kind(named))
        known = list_refs(*(row or ([], [])))
        return [known.get(client) for client in named]

    async def find_keys(self, refs: Sequence[int]) -> Sequence[ClientKey | None]:
        if not refs:
            return []
        ids = dict(await self._database.table("record/clients/client_ids", refs=sorted(set(refs))))
        return [ClientKey(kind=get_kind(ref), id=ids[ref]) if ref in ids else None for ref in refs]

    async def get_clients(self, refs: Sequence[int], as_of: int | None = None) -> Sequence[Client]:
        if not refs:
            return []
        found = await self._database.read(
            lambda transaction: read_clients(transaction, refs, as_of)
        )
        return [found[ref] for ref in refs if ref in found]

    async def get_client_contents(self, refs: Sequence[int]) -> Sequence[Client]:
        return [
            _build_client(row)
            for row in await self._database.table(
                "record/clients/client_contents", refs=sorted(set(refs))
            )
        ]

    async def scan_clients(self, kind: ClientKind, after_ref: int, limit: int) -> Sequence[Client]:
        return [
            _build_client(row)
            for row in await self._database.table(SCANS[kind], after=after_ref, limit=limit)
        ]

    async def find_clients_by_words(
        self, kind: ClientKind, words: Sequence[str], after_ref: int, limit: int
    ) -> Sequence[int]:
        # Words are letters and digits in lower case, so that none means anything to the server.
        query = " ".join(f"+{word}*" for word in words)
        rows = await self._database.rows(SEARCHES[kind], query=query, after=after_ref, limit=limit)
        return [ref for (ref,) in rows]

    async def count_clients(self, kind: ClientKind) -> int:
        return int(await self._database.value(COUNTS[kind]))


def group_ids_by_kind(clients: Iterable[NamedClient]) -> dict[str, list[str]]:
    """Group distinct ids into the parameters `users` and `items`."""
    distinct = dict.fromkeys(clients)
    return {
        "users": [id_ for kind, id_ in distinct if kind == USER],
        "items": [id_ for kind, id_ in distinct if kind == ITEM],
    }


def list_refs(users: Iterable[Sequence[Any]], items: Iterable[Sequence[Any]]) -> Refs:
    """Map (kind, id) to ref.

    Args:
        users: Pairs [id, ref].
        items: Pairs [id, ref].
    """
    return {
        (kind, id_): ref for kind, pairs in ((USER, users), (ITEM, items)) for id_, ref in pairs
    }


async def read_clients(
    transaction: Transaction, refs: Iterable[int], as_of: int | None = None
) -> dict[int, Client]:
    """Read clients by ref; unknown refs are left out."""
    distinct = sorted(set(refs))
    rows = (
        await transaction.table("record/clients/clients", refs=distinct)
        if as_of is None
        else await transaction.table("record/clients/clients_as_of", refs=distinct, as_of=as_of)
    )
    return {row[0]: _build_client(row) for row in rows}


async def create_clients(
    transaction: Transaction, clients: Sequence[Client], sequence: int
) -> None:
    """Create clients with their contents at a sequence."""
    for kind in ClientKind:
        rows = [
            {
                "ref": client.ref,
                "id": client.key.id,
                "version": 0,
                "sequence": sequence,
                **_build_content(client),
            }
            for client in clients
            if client.key.kind == kind
        ]
        if rows:
            await transaction.execute(CREATES[kind], rows=rows)


async def update_clients(
    transaction: Transaction, clients: Sequence[Client], sequence: int
) -> None:
    """Set new contents of clients.

    The old ones are kept with the sequence of the change.
    """
    if clients:
        await transaction.execute(
            "record/clients/update_clients",
            sequence=sequence,
            rows=[
                {"ref": client.ref, "sequence": sequence, **_build_content(client)}
                for client in clients
            ],
        )


def _build_content(client: Client) -> Mapping[str, object]:
    """Convert the contents to properties; empty ones are left out."""
    return {
        "title": client.title or None,
        "description": client.description or None,
        "attributes": list(client.attributes) or None,
        "categories": list(client.categories) or None,
        "hidden": client.hidden or None,
        "metadata": orjson.dumps(dict(client.metadata)).decode() if client.metadata else None,
        "words": join_words(list_words_of(client)),
        "only_in_events": client.only_in_events or None,
    }


def _build_client(row: Sequence[Any]) -> Client:
    ref, id_, title, description, attributes, categories, hidden, metadata, sequence, events = row
    return Client(
        ref=ref,
        key=ClientKey(kind=get_kind(ref), id=id_),
        title=title or "",
        description=description or "",
        attributes=tuple(attributes or ()),
        categories=tuple(categories or ()),
        hidden=bool(hidden),
        metadata=orjson.loads(metadata) if metadata else {},
        sequence=sequence,
        only_in_events=bool(events),
    )
