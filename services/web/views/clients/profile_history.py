"""A client's profile at any time, and each of its changes."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

import grpc
from google.protobuf.timestamp_pb2 import Timestamp
from starlette.requests import Request
from starlette.responses import Response

from propagation.v1 import propagation_pb2 as pb
from propagation_client import CallFailed
from services.web.access.sessions import Visitor
from services.web.problems import BadAddress
from services.web.rendering import get_visitor
from services.web.view_table import ViewTable
from services.web.views.clients.client_pages import read_key, show_client
from services.web.views.clients.profile import split_by_author

CHANGES_SHOWN = 5
MOST_MARKS = 200


@dataclass(frozen=True)
class Change:
    """A change of a profile.

    Attributes:
        sequence: The log entry that it belongs to.
        before: The profile just before it; None: there was no client.
        after: The profile just after it.
    """

    sequence: int
    before: pb.Profile | None
    after: pb.Profile

    @property
    def added(self) -> list[pb.Line]:
        """The lines that the change brought, reworded ones too."""
        old = {line.text for line in self.before.lines} if self.before else set()
        return [line for line in self.after.lines if line.text not in old]

    @property
    def removed(self) -> list[pb.Line]:
        """The lines that went, or were reworded."""
        new = {line.text for line in self.after.lines}
        return [line for line in self.before.lines if line.text not in new] if self.before else []

    @property
    def event(self) -> pb.InteractionSource | None:
        """The event that made the change.

        None if no line of the profile rests on one.
        """
        for line in self.after.lines:
            for source in line.sources:
                if source.interaction.sequence == self.sequence:
                    return source.interaction
        return None

    @property
    def cause(self) -> str:
        """What made the change: created, event, catalogue, messages or other."""
        if self.event is not None:
            return "event"
        authors = {line.author for line in (*self.added, *self.removed)}
        if pb.AUTHOR_RECEPTION in authors:
            return "messages"
        if pb.AUTHOR_CATALOGUE in authors:
            return "catalogue"
        return "other" if self.before and self.before.version else "created"


class Past:
    """The past of one client's profile, read entry by entry.

    Args:
        newest: The last entry of the log that can be asked for.
    """

    def __init__(self, visitor: Visitor, key: pb.ClientKey, newest: int) -> None:
        self._visitor = visitor
        self._key = key
        self._read: dict[int, pb.Profile | None] = {}
        self.newest = newest
        self.oldest = 1

    async def start(self) -> None:
        """Find the oldest entry that the service still keeps."""
        try:
            await self.read(self.oldest)
        except CallFailed as error:
            if error.reason != "TOO_OLD":
                raise
            self.oldest = int(error.facts["oldest"])

    async def read(self, sequence: int) -> pb.Profile | None:
        """Return the profile just after a log entry.

        None if there was no client.
        """
        if sequence not in self._read:
            self._read[sequence] = await self._ask(pb.AsOf(sequence=sequence))
        return self._read[sequence]

    async def find_time(self, time: datetime) -> int:
        """Return the entry with which the profile of a time began."""
        moment = Timestamp()
        moment.FromDatetime(time)
        then = await self._ask(pb.AsOf(commit_time=moment))
        if then is None:
            return self.oldest
        low, high = self.oldest, self.newest
        while low < high:
            middle = (low + high) // 2
            there = await self.read(middle)
            if there is None or there.version < then.version:
                low = middle + 1
            else:
                high = middle
        return low

    async def find_last_change(self, sequence: int) -> Change | None:
        """Return the last change at an entry or before it.

        None if there is none that is kept.
        """
        after = await self.read(sequence)
        if after is None:
            return None
        # Nearly every version is that of the newest event behind it, which costs two reads.
        for guess in _guess_entries(after, sequence):
            if guess <= self.oldest or not _is_same(await self.read(guess), after):
                continue
            before = await self.read(guess - 1)
            if not _is_same(before, after):
                return Change(guess, before, after)
            break
        low, high, step = sequence - 1, sequence, 1
        while low >= self.oldest and _is_same(await self.read(low), after):
            low, high, step = low - step, low, 2 * step
        low = max(low, self.oldest)
        if _is_same(await self.read(low), after):
            return None
        return await self._bisect(low, high)

    async def find_next_change(self, sequence: int) -> int | None:
        """Return the entry of the first change after an entry.

        None if there is none.
        """
        now = await self.read(sequence)
        low, high, step = sequence, sequence + 1, 1
        while high < self.newest and _is_same(await self.read(high), now):
            low, high, step = high, high + step, 2 * step
        high = min(high, self.newest)
        if high <= low or _is_same(await self.read(high), now):
            return None
        while high - low > 1:
            middle = (low + high) // 2
            if _is_same(await self.read(middle), now):
                low = middle
            else:
                high = middle
        return high

    async def _bisect(self, low: int, high: int) -> Change:
        """Return the change in (low, high] that made the profile at `high`."""
        after = await self.read(high)
        while high - low > 1:
            middle = (low + high) // 2
            if _is_same(await self.read(middle), after):
                high = middle
            else:
                low = middle
        assert after is not None
        return Change(high, await self.read(low), after)

    async def _ask(self, at: pb.AsOf) -> pb.Profile | None:
        try:
            answer = await self._visitor.stub.GetProfile(
                pb.GetProfileRequest(key=self._key, as_of=at)
            )
        except CallFailed as error:
            if error.code() == grpc.StatusCode.NOT_FOUND:
                return None
            raise
        return answer.profile


def _is_same(one: pb.Profile | None, other: pb.Profile | None) -> bool:
    """Tell whether two readings are one version.

    Versions that the visitor is not told are compared by their lines.
    """
    if one is None or other is None:
        return one is other
    return one.version == other.version and [line.text for line in one.lines] == [
        line.text for line in other.lines
    ]


def _guess_entries(profile: pb.Profile, through: int) -> list[int]:
    """Return the newest entry that a profile rests on, if any."""
    entries = [
        source.interaction.sequence
        for line in profile.lines
        for source in line.sources
        if 0 < source.interaction.sequence <= through
    ]
    return [max(entries)] if entries else []


async def show_history(request: Request) -> Response:
    """Show the profile as it was, and the changes before it."""
    visitor = get_visitor(request)
    query = request.query_params
    key = read_key(query)
    now = (await visitor.stub.GetProfile(pb.GetProfileRequest(key=key))).profile
    status = await visitor.stub.GetStatus(pb.GetStatusRequest())
    past = Past(visitor, key, status.recorded_through)
    await past.start()
    at = await read_place(query, past)
    changes: list[Change] = []
    place = at
    while len(changes) < CHANGES_SHOWN:
        change = await past.find_last_change(place)
        if change is None:
            break
        changes.append(change)
        place = change.sequence - 1
        if place < past.oldest:
            break
    then = await past.read(at)
    return show_client(
        request,
        "history.html",
        key,
        now.title,
        at=at,
        past=past,
        changes=changes,
        earlier=changes[0].sequence - 1 if changes and changes[0].sequence > past.oldest else None,
        later=await past.find_next_change(at),
        sections=split_by_author(then.lines) if then else [],
        then=then,
        marks=list_marks(now, changes),
    )


async def read_place(query: Mapping[str, str], past: Past) -> int:
    """Return the log entry that an address names, by number or time.

    Raises:
        BadAddress: It is no entry that can be shown, or no time.
    """
    if query.get("time"):
        try:
            time = datetime.fromisoformat(query["time"])
        except ValueError as error:
            raise BadAddress("A time is written as 2026-11-30T16:05, in UTC.") from error
        if not 1970 <= time.year < 9999:
            raise BadAddress("Times are in the years 1970 to 9998.")
        return await past.find_time(time.astimezone(UTC) if time.tzinfo else time)
    text = query.get("at") or str(past.newest)
    if not (text.isascii() and text.isdecimal() and len(text) < 19):
        raise BadAddress("The place in the log is a number.")
    if not past.oldest <= int(text) <= past.newest:
        raise BadAddress(
            f"The log is kept from entry {past.oldest:,} to entry {past.newest:,}:"
            " choose a place between them."
        )
    return int(text)


def list_marks(now: pb.Profile, changes: list[Change]) -> list[int]:
    """List entries that are known to have changed the profile."""
    entries = {change.sequence for change in changes} | {
        source.interaction.sequence
        for line in now.lines
        for source in line.sources
        if source.interaction.sequence
    }
    return sorted(entries)[-MOST_MARKS:]


VIEWS = ViewTable(pages={"/client/history": show_history})
