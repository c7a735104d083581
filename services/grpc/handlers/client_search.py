"""Clients among many: SearchClients, and ListClientEvents."""

import asyncio
from functools import cached_property

from propagation.graph_rules import split_words
from propagation.model import ClientEvent, ClientKey, ClientKind, InvalidInput, check_text
from propagation.v1 import propagation_pb2 as pb
from propagation.workflow.read.client_search import (
    AFTER_EXACT,
    BEFORE_ALL,
    FoundPage,
    find_client_of_id,
    search_catalogue,
    search_profiles,
)
from services.grpc.convert import key_to_proto, time_to_proto
from services.grpc.handlers.servicer import Context, Servicer
from services.grpc.requests import (
    KINDS,
    make_token,
    parse_choice,
    parse_key,
    parse_limit,
    parse_page,
    read_token,
)
from services.security.roles import Role, admitted_caller

SEARCH_MAX_CHARS, SEARCH_MAX_WORDS = 256, 16


class ClientSearchHandler(Servicer):
    """Finds clients, and lists the events of one."""

    @cached_property
    def _turn(self) -> asyncio.Semaphore:
        """Let searches by words take turns.

        A search for single letters may keep a reader of the store busy. The look-up of one id is
        quick and waits for nobody.
        """
        return asyncio.Semaphore(1)

    async def SearchClients(
        self, request: pb.SearchClientsRequest, context: Context
    ) -> pb.SearchClientsResponse:
        kind = parse_choice(request.kind, "kind", KINDS, "CLIENT_KIND_USER or CLIENT_KIND_ITEM")
        text = _parse_search(request.text)
        size = parse_limit(request, "page_size", default=100)
        question = f"clients {int(kind)} {request.lines} {text}"
        place = BEFORE_ALL
        if request.page_token:
            (place,) = read_token(request.page_token, "page_token", question, 1, AFTER_EXACT)
        page = await self._search(kind, text, place, size, lines=request.lines)
        return pb.SearchClientsResponse(
            clients=[
                pb.SearchClientsResponse.Found(
                    key=key_to_proto(found.client.key),
                    title=found.client.title,
                    hidden=found.client.hidden,
                    line=found.line,
                )
                for found in page.found
            ],
            next_page_token=(
                "" if page.next_place is None else make_token(question, page.next_place)
            ),
        )

    async def _search(
        self, kind: ClientKind, text: str, place: int, size: int, *, lines: bool
    ) -> FoundPage:
        """Search as far as the caller may see clients of this kind.

        Raises:
            NotAllowed: The caller may not search for users, or in lines.
        """
        caller = admitted_caller.get()
        if lines:
            caller.require("SearchClients in lines", Role.ANALYST)
            async with self._turn:
                return await search_profiles(self._store, kind, text, place, size)
        if kind == ClientKind.USER and not caller.sees_users:
            caller.require("SearchClients among users", Role.PERSONS, Role.ANALYST)
            return await find_client_of_id(self._store, kind, text, self._find_unlisted)
        async with self._turn:
            return await search_catalogue(self._store, kind, text, place, size, self._find_unlisted)

    async def ListClientEvents(
        self, request: pb.ListClientEventsRequest, context: Context
    ) -> pb.ListClientEventsResponse:
        key = parse_key(request.key, "key")
        # The page starts before the sequence of its token.
        page = parse_page(request, f"events {int(key.kind)} {key.id}")
        ref = await self._engine.find_any_ref(key)  # the role admin sees all events
        events = await self._store.get_client_events(ref, page.size + 1, page.before)
        shown, more = events[: page.size], len(events) > page.size
        refs = sorted({ref for event in shown for ref in _list_clients(event)})
        keys = dict(zip(refs, await self._store.find_keys(refs), strict=True))
        return pb.ListClientEventsResponse(
            events=[_event_to_proto(event, keys) for event in shown],
            next_page_token=page.create_next_token(shown[-1].sequence) if more else "",
        )


def _parse_search(text: str) -> str:
    """Return the text of a search if it is within the limits.

    Raises:
        InvalidInput: The text is empty or too long, or has too many words.
    """
    if not text.strip():
        raise InvalidInput("text", f"is empty; give 1 to {SEARCH_MAX_CHARS} characters")
    if len(text) > SEARCH_MAX_CHARS:
        raise InvalidInput("text", f"is {len(text)} characters long; at most {SEARCH_MAX_CHARS}")
    if (words := len(split_words([text]))) > SEARCH_MAX_WORDS:
        raise InvalidInput("text", f"has {words} words; at most {SEARCH_MAX_WORDS}")
    return check_text(text, "text")


def _list_clients(event: ClientEvent) -> tuple[int, ...]:
    own = (event.user, event.item)
    return own if event.negative is None else (*own, event.negative)


def _event_to_proto(event: ClientEvent, keys: dict[int, ClientKey | None]) -> pb.ClientEvent:
    """Convert an event; an erased client has an empty id."""

    def name(ref: int) -> str:
        key = keys[ref]
        return "" if key is None else key.id

    return pb.ClientEvent(
        sequence=event.sequence,
        interaction=pb.Interaction(
            event_id=event.event_id,
            user_id=name(event.user),
            item_id=name(event.item),
            negative_item_id=None if event.negative is None else name(event.negative),
            time=None if event.time is None else time_to_proto(event.time),
            weight=event.weight,
            metadata=event.metadata,
        ),
        recorded_at=None if event.at is None else time_to_proto(event.at),
        retracted=event.retracted,
    )
