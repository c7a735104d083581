"""Interactions without texts: ListDeadLetters and ReplayDeadLetters."""

from propagation.model import InvalidInput
from propagation.ports import GraphStore
from propagation.v1 import propagation_pb2 as pb
from propagation.workflow.reason.dead_letters import list_failed_events
from services.grpc.convert import failed_event_to_proto
from services.grpc.handlers.servicer import Context, Servicer
from services.grpc.requests import check_count, parse_page

# A page of exchanges of the greatest length is smaller than the largest message.
EXCHANGES_A_PAGE, MOST_EXCHANGES_A_PAGE = 20, 50


async def answer_dead_letters(
    store: GraphStore, request: pb.ListDeadLettersRequest
) -> pb.ListDeadLettersResponse:
    """Answer ListDeadLetters from a store.

    Raises:
        InvalidInput: A field is wrong, or the page token belongs to another question.
    """
    page = (
        parse_page(request, "dead letters, long", EXCHANGES_A_PAGE, MOST_EXCHANGES_A_PAGE)
        if request.exchanges
        else parse_page(request, "dead letters")
    )
    # The page starts before the sequence of its token.
    found = await list_failed_events(store, page.before, page.size)
    return pb.ListDeadLettersResponse(
        dead_letters=[
            failed_event_to_proto(letter, exchanges=request.exchanges) for letter in found.letters
        ],
        next_page_token=(
            "" if found.next_before is None else page.create_next_token(found.next_before)
        ),
    )


class DeadLettersHandler(Servicer):
    """Lists dead letters, and queues them to be tried again."""

    async def ListDeadLetters(
        self, request: pb.ListDeadLettersRequest, context: Context
    ) -> pb.ListDeadLettersResponse:
        return await answer_dead_letters(self._store, request)

    async def ReplayDeadLetters(
        self, request: pb.ReplayDeadLettersRequest, context: Context
    ) -> pb.ReplayDeadLettersResponse:
        check_count(request.sequences, "sequences")
        if bool(request.sequences) == request.all:
            raise InvalidInput("sequences", "give the sequences of dead letters, or all, not both")
        for place, sequence in enumerate(request.sequences):
            if sequence < 1:
                raise InvalidInput(f"sequences[{place}]", f"is {sequence}; sequences start at 1")
        asked = None if request.all else sorted(set(request.sequences))
        queued = await self._worker.queue_dead_letters(asked)
        return pb.ReplayDeadLettersResponse(
            queued=queued, unknown=0 if asked is None else len(asked) - queued
        )
