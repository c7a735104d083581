"""WatchPropagation: its events, and the opaque tokens that resume a watch.

Tokens stay valid for as long as the graph exists.
"""

import asyncio
import itertools
from collections.abc import AsyncGenerator, AsyncIterator, Collection, Sequence
from dataclasses import astuple, dataclass, fields
from functools import partial

from propagation.model import (
    EvolutionRun,
    InvalidInput,
    NumberedMerge,
    Round,
    RouterVersion,
    get_kind,
)
from propagation.v1 import propagation_pb2 as pb
from propagation.workflow.concurrency import run_in_background
from propagation.workflow.history.watch import (
    MAX_BACKLOG,
    Gap,
    Position,
    PositionedEvent,
    Watcher,
    WatchEvent,
    WatchEventKind,
    get_graph_birth_time,
    get_newest_position,
)
from services.grpc.convert import (
    CLIENT_KINDS,
    OUTCOMES,
    evolution_to_proto,
    message_to_proto,
    parties_to_proto,
    round_to_proto,
)
from services.grpc.handlers.servicer import Context, Servicer
from services.grpc.requests import check_count, make_token, parse_choice, read_token
from services.grpc.visibility import References, load_references
from services.runtime.tasks import wait_for_event


@dataclass(frozen=True)
class ResumeTokens:
    """Encodes and decodes the tokens of one stream.

    `created` is the time of the graph's first entry, which tells graphs apart; a token that was
    made before that entry holds 0.
    """

    kinds: Collection[WatchEventKind]
    created: int

    @property
    def _question(self) -> str:
        return f"watch {' '.join(sorted(self.kinds))}"

    def encode(self, position: Position) -> str:
        """Make the token of a position."""
        return make_token(self._question, self.created, *astuple(position))

    def decode(self, token: str, newest: Position) -> Position:
        """Read the position of a token.

        Args:
            token: The token.
            newest: The graph's newest position; a later position is from another graph.

        Raises:
            InvalidInput: The token was altered, or belongs to other kinds or another graph.
        """
        created, *numbers = read_token(
            token, "resume_token", self._question, 1 + len(fields(Position)), minimum=-1
        )
        position = Position(*numbers)
        if created not in (0, self.created):
            raise InvalidInput("resume_token", "belongs to another graph; start again without it")
        if (
            position.round > newest.round
            or position.merge > newest.merge
            or position.evolution > newest.evolution
        ):
            raise InvalidInput(
                "resume_token",
                "is newer than this graph, which may come from a back-up; start again without it",
            )
        return position


def event_to_proto(event: WatchEvent, references: References) -> pb.WatchPropagationResponse:
    """Convert an event, without its resume token."""
    answer = partial(pb.WatchPropagationResponse, sequence=event.sequence)
    match event:
        case Round():
            return answer(kind=pb.PROPAGATION_EVENT_KIND_ROUND, round=round_to_proto(event))
        case RouterVersion():
            return answer(kind=pb.PROPAGATION_EVENT_KIND_MESSAGE, message=message_to_proto(event))
        case EvolutionRun():
            return answer(
                kind=pb.PROPAGATION_EVENT_KIND_EVOLUTION, evolution=evolution_to_proto(event)
            )
        case Gap():
            return answer(kind=pb.PROPAGATION_EVENT_KIND_GAP, missed=event.missed)
        case NumberedMerge():
            return answer(
                kind=pb.PROPAGATION_EVENT_KIND_MERGE, merge=_merge_to_proto(event, references)
            )


def count_merges(merges: Sequence[WatchEvent]) -> pb.WatchPropagationResponse:
    """Count merges by router in one event.

    It has the last merge's sequence.

    Args:
        merges: At least one; other events are not counted.
    """
    counts: dict[int, pb.RouterMergeCount] = {}
    for event in merges:
        if not isinstance(event, NumberedMerge):
            continue
        router = event.merge.router
        count = counts.setdefault(router, pb.RouterMergeCount(router=router))
        if OUTCOMES.get(event.merge.outcome) == pb.MERGE_OUTCOME_MERGED:
            count.merged += 1
        else:
            count.dropped += 1
    return pb.WatchPropagationResponse(
        kind=pb.PROPAGATION_EVENT_KIND_MERGE,
        sequence=merges[-1].sequence,
        merge_counts=pb.MergeCounts(routers=[counts[router] for router in sorted(counts)]),
    )


def _merge_to_proto(event: NumberedMerge, references: References) -> pb.MergeReport:
    merge, caller = event.merge, references.caller
    return pb.MergeReport(
        # Hidden for items, too: an item merges messages when it is chosen, perhaps by one user.
        client=parties_to_proto([merge.ref], references)
        if caller.sees_users
        else pb.Parties(count=1),
        kind=CLIENT_KINDS[get_kind(merge.ref)],
        profile_version=merge.profile_version if caller.sees_users else 0,
        router=merge.router,
        router_version=merge.router_version,
        outcome=OUTCOMES.get(merge.outcome, pb.MERGE_OUTCOME_UNSPECIFIED),
    )


KINDS = {
    pb.PROPAGATION_EVENT_KIND_ROUND: WatchEventKind.ROUND,
    pb.PROPAGATION_EVENT_KIND_MESSAGE: WatchEventKind.MESSAGE,
    pb.PROPAGATION_EVENT_KIND_MERGE: WatchEventKind.MERGE,
    pb.PROPAGATION_EVENT_KIND_EVOLUTION: WatchEventKind.EVOLUTION,
}
POLL_SECONDS = 1.0  # another process may have committed something
PAUSE_SECONDS = 0.1
TOKEN_KEY = "propagation-resume-token"


class WatchPropagationHandler(Servicer):
    """Streams events to watchers.

    Each watcher reads the graph at its own pace, and delays no other.
    """

    async def WatchPropagation(
        self, request: pb.WatchPropagationRequest, context: Context
    ) -> AsyncGenerator[pb.WatchPropagationResponse, None]:
        check_count(request.kinds, "kinds", len(KINDS))
        kinds = frozenset(
            parse_choice(
                kind, f"kinds[{place}]", KINDS, "ROUND, MESSAGE, MERGE or EVOLUTION, or no kinds"
            )
            for place, kind in enumerate(request.kinds)
        ) or frozenset(WatchEventKind)
        store = self._store
        now = await get_newest_position(store)
        tokens = ResumeTokens(kinds, await get_graph_birth_time(store))
        start = tokens.decode(request.resume_token, now) if request.resume_token else now
        await context.send_initial_metadata(((TOKEN_KEY, tokens.encode(start)),))
        watch = Watcher(store, kinds, start, now, MAX_BACKLOG)
        while not self.stopping.is_set():
            events = [event async for event in watch.step()]
            async for answer, position in self._convert(events, counted=request.count_merges):
                answer.resume_token = tokens.encode(position)
                yield answer
            if not events:
                async with (
                    run_in_background(self._worker.wait_for_progress(POLL_SECONDS)) as progress,
                    run_in_background(self.stopping.wait()) as stopping,
                ):
                    await asyncio.wait((progress, stopping), return_when=asyncio.FIRST_COMPLETED)
            await wait_for_event(self.stopping, PAUSE_SECONDS)

    async def _convert(
        self, events: Sequence[PositionedEvent], *, counted: bool
    ) -> AsyncIterator[tuple[pb.WatchPropagationResponse, Position]]:
        """Yield an answer for each event, or one for all merges.

        Args:
            counted: Whether merges are only counted; those that follow each other are one answer.
        """
        refs = [
            event.merge.ref
            for event, _ in events
            if isinstance(event, NumberedMerge) and not counted
        ]
        references = await load_references(self._engine, refs=refs)
        for merges, some in itertools.groupby(
            events, lambda one: counted and isinstance(one[0], NumberedMerge)
        ):
            if merges:
                group = list(some)
                yield count_merges([event for event, _ in group]), group[-1][1]
            else:
                for event, position in some:
                    yield event_to_proto(event, references), position
