"""Messages, which are versions of routers."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from propagation.adapters.neo4j.connection import StorePart, Transaction
from propagation.adapters.shared.upper_bounds import get_bound
from propagation.model import (
    IntegratedAttribute,
    RouterVersion,
    StoreCorrupt,
    group_pairs,
    is_since_bootstrap,
)
from propagation.reception.message_buffer import (
    ClientEdge,
    MessageKey,
    Receiver,
    SentMessage,
    WaitingMessages,
)

CURRENT = -1
"""The closing round of a current edge in cypher/rounds/messages/receiver_edges."""


class Neo4jMessages(StorePart):
    """Reads published messages, and which of them wait for clients (RecNet 2.3.1)."""

    async def get_messages(
        self, keys: Sequence[MessageKey], senders: int
    ) -> Mapping[MessageKey, RouterVersion]:
        found = await self.read_brief_versions(sorted(set(keys)))
        parts: dict[MessageKey, list[IntegratedAttribute]] = {key: [] for key in found}
        if found and senders:
            for router, version, part in await self._database.rows(
                "rounds/messages/senders", keys=[list(key) for key in found], senders=senders
            ):
                parts[router, version].append(IntegratedAttribute(*part))
        return {
            key: replace(version, integrated=tuple(parts[key])) for key, version in found.items()
        }

    async def get_messages_of(self, number: int) -> Sequence[RouterVersion]:
        keys = await self._database.rows("rounds/messages/messages_of_round", round=number)
        versions = await self.read_brief_versions([(router, version) for router, version in keys])
        return list(versions.values())

    async def get_router_versions(
        self, routers: Sequence[int], at: int | None = None
    ) -> Sequence[RouterVersion]:
        newest = await self._database.table(
            "rounds/messages/newest_messages", routers=sorted(set(routers)), at=at
        )
        return list(
            (
                await self.read_brief_versions(
                    [
                        (router, version)
                        for router, version, *made in newest
                        if is_since_bootstrap(*made)
                    ]
                )
            ).values()
        )

    async def get_version_numbers(self, routers: Sequence[int]) -> Mapping[int, int]:
        newest = await self._database.table(
            "rounds/messages/newest_messages", routers=sorted(set(routers)), at=None
        )
        return {router: version for router, version, *_ in newest}

    async def get_router_history(
        self, router: int, limit: int, before: int | None = None
    ) -> Sequence[RouterVersion]:
        keys = await self._database.rows(
            "rounds/messages/versions_before", router=router, before=get_bound(before), limit=limit
        )
        found = await self.read_brief_versions([(router, version) for _, version in keys])
        return [found[router, version] for _, version in keys if (router, version) in found]

    async def get_router_version(self, router: int, version: int) -> RouterVersion | None:
        brief = (await self.read_brief_versions([(router, version)])).get((router, version))
        if brief is None:
            return None
        parts = await self._database.rows(
            "rounds/messages/parts_of_message", router=router, version=version
        )
        return replace(brief, integrated=tuple(IntegratedAttribute(*part) for part in parts))

    async def get_parts_carrying(
        self, keys: Sequence[MessageKey], attributes: Sequence[str], except_ref: int
    ) -> Mapping[MessageKey, Sequence[IntegratedAttribute]]:
        if not (keys and attributes):
            return {}
        return group_pairs(
            ((router, version), IntegratedAttribute(*part))
            for router, version, *part in await self._database.table(
                "rounds/messages/parts_with_attributes",
                keys=[list(key) for key in sorted(set(keys))],
                attributes=sorted(set(attributes)),
                except_ref=except_ref,
            )
        )

    async def get_contributions(self, ref: int, limit: int) -> Sequence[RouterVersion]:
        parts = group_pairs(
            ((router, version), part)
            for router, version, *part in await self._database.rows(
                "rounds/messages/contributions", ref=ref
            )
        )
        versions = await self.read_brief_versions(list(parts)[:limit])
        return [
            replace(version, integrated=tuple(IntegratedAttribute(*part) for part in parts[key]))
            for key, version in versions.items()
        ]

    async def read_brief_versions(
        self, keys: Sequence[MessageKey]
    ) -> dict[MessageKey, RouterVersion]:
        """Read published messages by key, each with at most two senders.

        The messages come in the order of the keys.
        """
        rows = (
            await self._database.table("rounds/messages/messages", keys=[list(key) for key in keys])
            if keys
            else []
        )
        return {(row[0], row[1]): _build_version(row) for row in rows}

    async def get_waiting_messages(
        self, refs_after: Mapping[int, int], through: int | None = None
    ) -> Mapping[int, Sequence[RouterVersion]]:
        keys = (
            await self._database.read(
                lambda transaction: _read_waiting_keys(transaction, refs_after, through)
            )
            if refs_after
            else {}
        )
        versions = await self.read_brief_versions(
            sorted({key for found in keys.values() for key in found})
        )
        return {ref: [versions[key] for key in keys.get(ref, ())] for ref in refs_after}


def build_properties(version: RouterVersion, round_: int) -> dict[str, object]:
    """Convert a router version to a row of cypher/rounds/staging/stage_messages."""
    senders = version.first_parts
    return {
        "router": version.router,
        "version": version.version,
        "round": round_,
        "epoch": version.epoch,
        "name": version.name,
        "text": version.text,
        "attributes": list(version.attributes),
        "standing_names": [name for name, _ in version.standing],
        "standing_weights": [float(weight) for _, weight in version.standing],
        "lone": version.lone_sender,
        "sender_attributes": [part.attribute for part in senders],
        "sender_refs": [part.ref for part in senders],
        "sender_versions": [part.profile_version for part in senders],
        "sender_sequences": [part.sequence for part in senders],
        "written_by": version.written_by or None,
    }


def list_parts(version: RouterVersion) -> list[list[object]]:
    """List the parts of a router version for cypher/rounds/staging/stage_parts, in order."""
    return [
        [
            version.router,
            version.version,
            part.attribute,
            part.ref,
            part.profile_version,
            part.sequence,
            place,
        ]
        for place, part in enumerate(version.integrated)
    ]


def _build_version(row: Sequence[Any]) -> RouterVersion:
    """Convert the row of a message.

    Raises:
        StoreCorrupt: The message has lost properties.
    """
    if None in row[:9]:
        raise StoreCorrupt(
            f"message {row[1]} of router {row[0]} has lost a property, such as its text;"
            " restore the database from a back-up"
        )
    return RouterVersion(
        router=row[0],
        version=row[1],
        round=row[2],
        epoch=row[3],
        name=row[4],
        text=row[5],
        attributes=tuple(row[6]),
        standing=tuple(zip(row[7], row[8], strict=True)),
        sequence=row[9],
        integrated=tuple(IntegratedAttribute(*part) for part in zip(*row[10:14], strict=True)),
        written_by=row[14] or "",
    )


async def _read_waiting_keys(
    transaction: Transaction, refs_after: Mapping[int, int], through: int | None
) -> dict[int, list[MessageKey]]:
    last = await transaction.value("rounds/newest_rounds", limit=1) or 0
    through = last if through is None else min(through, last)
    search = WaitingMessages(await _read_receivers(transaction, refs_after, through), through)
    rounds = [list(pair) for pair in search.list_rounds()]
    current = {
        (router, round_): SentMessage(router, *sent)
        for router, round_, *sent in (
            await transaction.table("rounds/messages/current_messages", pairs=rounds)
            if rounds
            else ()
        )
    }
    own = search.list_own_windows(current)
    from_others = {
        own[place]: SentMessage(own[place].router, *sent)
        for place, *sent in (
            await transaction.table(
                "rounds/messages/newest_from_others", spans=[list(window) for window in own]
            )
            if own
            else ()
        )
    }
    return search.choose(current, from_others)


async def _read_receivers(
    transaction: Transaction, refs_after: Mapping[int, int], through: int
) -> list[Receiver]:
    columns = await transaction.read_single_row(
        "rounds/messages/receiver_edges", refs=sorted(refs_after), through=through
    )
    edges = group_pairs(
        (ref, ClientEdge(router, opened, None if closed == CURRENT else closed))
        for ref, router, opened, closed in zip(*columns, strict=True)
    )
    firsts = {ref: min(edge.opened for edge in found) for ref, found in edges.items()}
    new = sorted({first for ref, first in firsts.items() if first > refs_after[ref]})
    eras = dict(await transaction.rows("rounds/eras_of_rounds", numbers=new)) if new else {}
    return [
        Receiver(ref, refs_after[ref], found, firsts[ref], eras.get(firsts[ref], 0))
        for ref, found in edges.items()
    ]
