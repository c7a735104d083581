"""A client's profile at any time, and each of its changes."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from itertools import groupby

import grpc
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from propagation.v1 import propagation_pb2 as pb
from propagation_client import CallFailed
from services.web.access.sessions import Visitor
from services.web.rendering import get_visitor, link_client
from services.web.views.addresses import (
    LARGEST_SEQUENCE,
    read_number,
    read_page_token,
    read_past_moment,
)
from services.web.views.clients.client_pages import read_key, show_client
from services.web.views.clients.profile import split_by_author
from services.web.views.view_table import ViewTable

VERSIONS_A_PAGE = 100
CHANGES_SHOWN = 5
CAUSES = {
    pb.PROFILE_CAUSE_CATALOGUE: "its catalogue text",
    pb.PROFILE_CAUSE_INTERACTION: "an event",
    pb.PROFILE_CAUSE_RECEPTION: "messages of routers",
    pb.PROFILE_CAUSE_RETRACTION: "events were taken back",
    pb.PROFILE_CAUSE_ERASURE: "another client was forgotten",
    pb.PROFILE_CAUSE_EVOLUTION: "an evolution of the routers",
}
OUTCOMES = {
    pb.MERGE_OUTCOME_MERGED: "merged",
    pb.MERGE_OUTCOME_FILTERED: "dropped by a filter rule",
    pb.MERGE_OUTCOME_EMPTY: "nothing in it for this client",
    pb.MERGE_OUTCOME_FELL_OUT: "fell out of the full buffer",
}


@dataclass(frozen=True)
class Stop:
    """A log entry at which the profile changed.

    Attributes:
        versions: The versions that belong to the entry, newest first.
    """

    versions: Sequence[pb.ProfileVersion]

    @property
    def sequence(self) -> int:
        """The log entry."""
        return self.versions[0].sequence

    @property
    def cause(self) -> str:
        """What made the versions, in the order in which it happened."""
        causes = dict.fromkeys(version.cause for version in reversed(self.versions))
        return " and ".join(CAUSES.get(cause, "something else") for cause in causes)

    @property
    def changed_ids(self) -> frozenset[int] | None:
        """The ids of lines that are new, gone or have other words.

        None if they are not known: the version before is not kept, or the visitor may not read the
        whole profile, whose lines then have no lasting ids.
        """
        if not all(one.version and one.HasField("lines_added") for one in self.versions):
            return None
        return frozenset(
            id_
            for one in self.versions
            for id_ in (*one.added_line_ids, *one.removed_line_ids, *one.changed_line_ids)
        )

    @property
    def messages(self) -> list[pb.DeliveredMessage]:
        """The messages that were merged or dropped."""
        return [message for version in self.versions for message in version.messages]


@dataclass(frozen=True)
class LineDifference:
    """How the lines of two profiles differ.

    Attributes:
        reworded: Lines with other words, each before and after.
    """

    added: Sequence[pb.Line]
    removed: Sequence[pb.Line]
    reworded: Sequence[tuple[pb.Line, pb.Line]] = ()


def compare_texts(before: Sequence[pb.Line], after: Sequence[pb.Line]) -> LineDifference:
    """Compare lines that have no ids in common: none counts as reworded."""
    old, new = {line.text for line in before}, {line.text for line in after}
    return LineDifference(
        added=[line for line in after if line.text not in old],
        removed=[line for line in before if line.text not in new],
    )


@dataclass(frozen=True)
class Change:
    """What a stop did to the profile.

    Attributes:
        before: The profile before; None if it is not kept.
        after: The profile after.
    """

    stop: Stop
    before: pb.Profile | None
    after: pb.Profile

    @cached_property
    def lines(self) -> "LineDifference":
        """The lines that the change brought, took away or reworded."""
        old = list(self.before.lines) if self.before else []
        ids = self.stop.changed_ids
        if ids is None:
            return compare_texts(old, self.after.lines)
        was = {line.id: line for line in old}
        now = [line for line in self.after.lines if line.id in ids]
        left = {line.id for line in self.after.lines}
        return LineDifference(
            added=[line for line in now if line.id not in was],
            removed=[line for line in old if line.id in ids and line.id not in left],
            reworded=[
                (was[line.id], line)
                for line in now
                if line.id in was and was[line.id].text != line.text
            ],
        )

    @property
    def event(self) -> pb.InteractionSource | None:
        """The event that made the change.

        None if no line of the profile rests on one.
        """
        for line in self.after.lines:
            for source in line.sources:
                if source.interaction.sequence == self.stop.sequence:
                    return source.interaction
        return None


def group_stops(versions: Iterable[pb.ProfileVersion]) -> list[Stop]:
    """Join the versions of each log entry, newest first."""
    return [Stop(list(group)) for _, group in groupby(versions, lambda one: one.sequence)]


async def show_history(request: Request) -> Response:
    """Show the profile as it was, and the changes before it."""
    visitor = get_visitor(request)
    query = request.query_params
    key = read_key(query)
    if query.get("time"):
        token, entry = await find_time(visitor, key, read_past_moment(query["time"], "A time"))
        page = {"page": token} if token else {}
        return RedirectResponse(link_client(key, "/client/history", at=entry, **page), 303)
    now, answer = await asyncio.gather(
        visitor.stub.GetProfile(pb.GetProfileRequest(key=key)),
        visitor.stub.ListProfileVersions(
            pb.ListProfileVersionsRequest(
                key=key, page_size=VERSIONS_A_PAGE, page_token=read_page_token(query)
            )
        ),
    )
    stops = group_stops(answer.versions)
    place = read_place(query, stops)
    changes = await read_changes(
        visitor, key, stops[place : place + CHANGES_SHOWN + 1], answer.oldest_sequence
    )
    page = {"page": read_page_token(query)} if read_page_token(query) else {}
    return show_client(
        request,
        "history.html",
        key,
        now.profile.title,
        stops=stops,
        place=place,
        changes=changes,
        then=changes[0].after if changes else None,
        sections=split_by_author(changes[0].after.lines) if changes else [],
        outcomes=OUTCOMES,
        page=read_page_token(query),
        next_page=answer.next_page_token,
        address=link_client(key, "/client/history"),
        here=link_client(key, "/client/history", **page),
    )


async def read_changes(
    visitor: Visitor, key: pb.ClientKey, stops: Sequence[Stop], oldest: int
) -> list[Change]:
    """Read the profiles of stops; compare each with the earlier.

    Args:
        stops: Newest first; the last of more than CHANGES_SHOWN is only compared with.
        oldest: The oldest log entry that can be read.
    """
    entries = [max(stop.sequence, oldest, 1) for stop in stops]
    if stops and len(stops) <= CHANGES_SHOWN:
        entries.append(stops[-1].sequence - 1)
    profiles = await asyncio.gather(
        *(read_profile(visitor, key, entry, oldest) for entry in entries)
    )
    return [
        Change(stop, before, after)
        for stop, after, before in zip(stops, profiles, [*profiles[1:], None], strict=False)
        if after is not None
    ][:CHANGES_SHOWN]


async def read_profile(
    visitor: Visitor, key: pb.ClientKey, entry: int, oldest: int
) -> pb.Profile | None:
    """Return the profile just after a log entry.

    None if there was no client, or the entry is not kept.
    """
    if entry < max(oldest, 1):
        return None
    try:
        answer = await visitor.stub.GetProfile(
            pb.GetProfileRequest(key=key, as_of=pb.AsOf(sequence=entry))
        )
    except CallFailed as error:
        if error.code() == grpc.StatusCode.NOT_FOUND:
            return None
        raise
    return answer.profile


async def find_time(visitor: Visitor, key: pb.ClientKey, time: datetime) -> tuple[str, int]:
    """Find the version that was the newest at a time.

    Returns:
        The token of its page, and its log entry; 0 before the first version.
    """
    token = ""
    while True:
        answer = await visitor.stub.ListProfileVersions(
            pb.ListProfileVersionsRequest(key=key, page_size=VERSIONS_A_PAGE, page_token=token)
        )
        for version in answer.versions:
            if version.time.ToDatetime(UTC) <= time:
                return token, version.sequence
        if not answer.next_page_token:
            return token, 0
        token = answer.next_page_token


def read_place(query: Mapping[str, str], stops: Sequence[Stop]) -> int:
    """Return the place among the stops that an address names.

    The slider names it by `step`, which counts from the oldest stop of the page; links name a log
    entry by `at`. Without either it is the newest stop.

    Raises:
        BadAddress: It is no number.
    """
    for name in ("step", "at"):
        text = query.get(name) or ""
        if not text:
            continue
        number = read_number(text, f"The place in the past (`{name}`)", 0, LARGEST_SEQUENCE)
        if name == "step":
            return max(len(stops) - 1 - number, 0)
        return next(
            (place for place, stop in enumerate(stops) if stop.sequence <= number), len(stops)
        )
    return 0


VIEWS = ViewTable(pages={"/client/history": show_history})
