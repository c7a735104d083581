"""Traces: where a preference went, and where a profile's line came from.

A path leads from an interaction over profile, attribute, router and message to the profile of
another client. It is read from what was recorded; nothing is inferred.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from propagation.model import (
    MERGED_OUTCOME,
    Author,
    IntegratedAttribute,
    InteractionRow,
    Line,
    NotFound,
    Profile,
    RouterVersion,
    VersionTooOld,
    find_names_in_text,
    normalize_name,
    split_into_batches,
)
from propagation.ports import GraphStore
from propagation.workflow.views import NumbersOwner

CONTRIBUTIONS = 200
PARTS_AT_ONCE = 16


@dataclass(frozen=True)
class ProfileHop:
    """A client's profile at a version.

    Attributes:
        line: The line of that version on the path; None if the version is not kept.
    """

    ref: int
    version: int
    line: Line | None


@dataclass(frozen=True)
class AttributeHop:
    """An attribute on its way to a router.

    Attributes:
        router: None while the attribute waits for its round.
        version: The version of the router's text that integrated the attribute; None likewise.
    """

    name: str
    router: int | None
    version: int | None


Hop = InteractionRow | ProfileHop | AttributeHop | RouterVersion
Path = tuple[Hop, ...]


@dataclass
class Tracer:
    """Finds paths lazily: a caller takes as many as it needs."""

    store: GraphStore
    numbers: NumbersOwner

    async def trace_event(self, event_id: str) -> AsyncIterator[Path]:
        """Yield the paths that start at an interaction.

        Raises:
            NotFound: No event has this id.
        """
        (state,) = await self.store.get_event_states([event_id])
        event = state.interaction
        if event is None:
            raise NotFound("event", event_id)
        for ref in (event.user, event.item):
            async for path in self._find_paths_of_event(event, ref):
                yield path

    async def trace_client(
        self, ref: int, attribute: str | None = None, *, with_events: bool = True
    ) -> AsyncIterator[Path]:
        """Yield the paths of the attributes that a client brought to routers.

        The newest round comes first.

        Args:
            attribute: Only paths of this canonical attribute.
            with_events: Also follow attributes that events brought, not only those of the client's
                own text.
        """
        for message in await self.store.get_contributions(ref, CONTRIBUTIONS):
            for part in message.integrated:
                # An erasure may have taken the attribute out of the message.
                if part.attribute not in message.attributes or (part.sequence and not with_events):
                    continue
                if part.ref == ref and attribute in (None, part.attribute):
                    start = (
                        *(await self._find_sources([part]))[0],
                        AttributeHop(part.attribute, message.router, message.version),
                    )
                    async for path in self._find_paths_onwards(start, message, part):
                        yield path

    async def trace_attribute(self, name: str, least_users: int) -> AsyncIterator[Path]:
        """Yield the paths of an attribute, from the clients that hold it.

        Args:
            least_users: How many users must hold the attribute; with fewer it counts as unknown. Of
                an item that fewer users chose, only its own text is traced.

        Raises:
            NotFound: The attribute is unknown, or fewer than `least_users` users hold it.
        """
        attribute = normalize_name(name)
        known = (await self.store.get_attributes([attribute])).get(attribute)
        if known is None or known.users < least_users:
            raise NotFound("attribute", attribute)
        holders = (await self.store.get_holders([attribute], CONTRIBUTIONS)).get(attribute, ())
        rare = await self.numbers.find_rarely_chosen(holders, least_users)
        for ref in holders:
            async for path in self.trace_client(ref, attribute, with_events=ref not in rare):
                yield path

    async def read_profile(self, ref: int, version: int | None = None) -> Profile:
        """Read the profile of a version, from which a line is traced.

        Args:
            version: None means the current version.

        Raises:
            NotFound: There was no such version yet.
            VersionTooOld: Retention dropped the version.
        """
        current = (await self.store.load_texts([ref]))[ref].profile
        if version is None or version == current.version:
            return current
        if not 1 <= version < current.version:
            raise NotFound("version of the profile", str(version))
        kept = await self.store.get_texts_of_versions([(ref, version)])
        if not kept:
            raise VersionTooOld(version)
        return kept[ref, version].profile

    async def trace_line(self, profile: Profile, line: Line) -> AsyncIterator[Path]:
        """Yield the paths from interactions to a line of a profile.

        The paths are followed back from the line.
        """
        ref, here = profile.ref, ProfileHop(profile.ref, profile.version, line)
        cited = [source.sequence for source in line.sources if source.sequence]
        keys = line.messages
        events, messages, parts = await asyncio.gather(
            self._events(cited),
            self.store.get_messages(keys, 0),
            self.store.get_parts_carrying(keys, line.attributes, ref),
        )
        for sequence in cited:
            if sequence in events:
                yield (events[sequence], here)
        for key in keys:
            if key in messages:
                async for path in self._find_paths_to_message(
                    messages[key], parts.get(key, ()), here
                ):
                    yield path

    async def _find_paths_of_event(self, event: InteractionRow, ref: int) -> AsyncIterator[Path]:
        """Yield the paths of an event through one client's profile.

        The attributes of a line that the event wrote or confirmed travel with the next message of
        their router. Until then, the path ends at the line's first attribute.
        """
        text = await self.store.get_text_at(ref, event.sequence)
        if text is None:
            return
        for line in text.profile.lines:
            if not _is_based_on(line, event.sequence):
                continue
            start: Path = (event, ProfileHop(ref, text.profile.version, line))
            carriers = await self._find_first_carriers(ref, line, text.profile, event.sequence)
            for message, part in carriers:
                hop = AttributeHop(part.attribute, message.router, message.version)
                async for path in self._find_paths_onwards((*start, hop), message, part):
                    yield path
            if not carriers:
                yield start + tuple(AttributeHop(name, None, None) for name in line.attributes[:1])

    async def _find_first_carriers(
        self, ref: int, line: Line, profile: Profile, sequence: int
    ) -> list[tuple[RouterVersion, IntegratedAttribute]]:
        """Find each router's first message that carries an attribute of a line.

        The message took the attribute from this version of the profile, or from a later one in
        which the attribute still rests on this interaction.
        """
        names = await self._map_to_canonical(line.attributes)
        carriers = [
            (message, part)
            for message in await self.store.get_contributions(ref, CONTRIBUTIONS)
            for part in message.integrated
            if part.ref == ref
            and part.attribute in names.values()
            and part.attribute in message.attributes
            and part.profile_version >= profile.version
        ]
        own_lines = await self._list_own_lines([part for _, part in carriers])
        # Messages come newest first, so the oldest of each router stays.
        first = {
            (message.router, part.attribute): (message, part)
            for (message, part), lines in zip(carriers, own_lines, strict=True)
            if any(_is_based_on(old, sequence) for old in lines)
        }
        return list(first.values())

    async def _find_paths_onwards(
        self, start: Path, message: RouterVersion, part: IntegratedAttribute
    ) -> AsyncIterator[Path]:
        """Yield paths to other profiles that took the attribute from the message.

        Without such a profile, one path ends at the message if it speaks of the attribute, else at
        the router that integrated it.
        """
        readers = [
            merge
            for merge in await self.store.get_merges_of_message(
                message.router, message.version, CONTRIBUTIONS
            )
            if merge.outcome == MERGED_OUTCOME and merge.ref != part.ref
        ]
        texts = await self.store.get_texts_of_versions(
            [(merge.ref, merge.profile_version) for merge in readers]
        )
        found_reader = False
        for merge in readers:
            then = texts.get((merge.ref, merge.profile_version))
            line = None if then is None else _find_line_from(then.profile, message)
            if then is None or (line is not None and part.attribute in line.attributes):
                found_reader = True
                yield (*start, message, ProfileHop(merge.ref, merge.profile_version, line))
        if not found_reader:
            yield (*start, message) if find_names_in_text([part.attribute], message.text) else start

    async def _find_paths_to_message(
        self, message: RouterVersion, parts: Sequence[IntegratedAttribute], here: ProfileHop
    ) -> AsyncIterator[Path]:
        """Yield paths to a line that rests on a message.

        Args:
            parts: Parts of the message with the line's attributes, from other clients.
        """
        for batch in split_into_batches(parts, PARTS_AT_ONCE):
            for part, source in zip(batch, await self._find_sources(batch), strict=True):
                hop = AttributeHop(part.attribute, message.router, message.version)
                yield (*source, hop, message, here)
        if not parts:
            yield (message, here)

    async def _find_sources(self, parts: Sequence[IntegratedAttribute]) -> list[Path]:
        """Find the interaction of each part, and the line that brought it.

        The line is as it was then. There is none if retention dropped that version.
        """
        own_lines, events = await asyncio.gather(
            self._list_own_lines(parts),
            self._events([part.sequence for part in parts if part.sequence]),
        )
        paths: list[Path] = []
        for part, lines in zip(parts, own_lines, strict=True):
            resting = [line for line in lines if _is_based_on(line, part.sequence)]
            line = next(iter([*resting, *lines]), None)
            event = (events[part.sequence],) if part.sequence in events else ()
            paths.append((*event, ProfileHop(part.ref, part.profile_version, line)))
        return paths

    async def _list_own_lines(self, parts: Sequence[IntegratedAttribute]) -> list[list[Line]]:
        """List for each part its client's lines with the attribute.

        They are the lines of the profile version that the part names. Lines that come from
        messages are left out. There are none if retention dropped that version.
        """
        texts = await self.store.get_texts_of_versions(
            [(part.ref, part.profile_version) for part in parts]
        )
        own = {
            key: [line for line in text.profile.lines if line.author != Author.RECEPTION]
            for key, text in texts.items()
        }
        names = await self._map_to_canonical(
            [name for lines in own.values() for line in lines for name in line.attributes]
        )
        return [
            [
                line
                for line in own.get((part.ref, part.profile_version), ())
                if part.attribute in {names[name] for name in line.attributes}
            ]
            for part in parts
        ]

    async def _events(self, sequences: Sequence[int]) -> dict[int, InteractionRow]:
        return (
            {row.sequence: row for row in await self.store.get_interactions(sequences)}
            if sequences
            else {}
        )

    async def _map_to_canonical(self, names: Sequence[str]) -> dict[str, str]:
        """Map attributes of lines to their canonical names."""
        known = await self.store.get_attributes(sorted(set(names))) if names else {}
        return {name: known[name].canonical or name if name in known else name for name in names}


def _is_based_on(line: Line, sequence: int) -> bool:
    return any(source.sequence == sequence for source in line.sources)


def _find_line_from(profile: Profile, message: RouterVersion) -> Line | None:
    return next(
        (
            line
            for line in profile.lines
            for source in line.sources
            if source.message == (message.router, message.version)
        ),
        None,
    )
