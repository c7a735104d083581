"""A client's profile at any time, and each of its changes."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby

import grpc
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from propagation.v1 import propagation_pb2 as pb
from propagation_client import CallFailed
from services.web.access.sessions import Visitor
from services.web.rendering import get_visitor, link_client
from services.web.view_table import ViewTable
from services.web.views.addresses import LARGEST_SEQUENCE, read_number, read_page_token, read_time
from services.web.views.clients.client_pages import read_key, show_client
from services.web.views.clients.profile import split_by_author

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
    def messages(self) -> list[pb.ReceivedMessage]:
        """The messages that were merged or dropped."""
        return [message for version in self.versions for message in version.messages]


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
        token, entry = await find_time(visitor, key, read_time(query["time"], "A time"))
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
