"""Routers: ListRouters, GetRouter, RunRound, EvolveRouters and ListEvolutionRuns."""

from propagation.model import (
    BankName,
    ClientKey,
    ClientKind,
    InvalidInput,
    LeaseHeld,
    NotFound,
    RoundAbandoned,
    RouterVersion,
    RoutingEdge,
    get_kind,
    pluralize,
)
from propagation.v1 import propagation_pb2 as pb
from propagation.workflow.read.router_communities import (
    find_session_community,
    read_router_numbers,
)
from services.grpc.convert import (
    BANKS,
    evolution_to_proto,
    key_to_proto,
    lineage_to_proto,
    round_to_proto,
)
from services.grpc.handlers.servicer import Context, Servicer, require_reading_of
from services.grpc.requests import parse_as_of, parse_choice, parse_key, parse_page
from services.security.roles import admitted_caller

BANK_CHOICES = {
    pb.BANK_UNSPECIFIED: (BankName.TASTE, BankName.SESSION),
    pb.BANK_TASTE: (BankName.TASTE,),
    pb.BANK_SESSION: (BankName.SESSION,),
}


class RoutersHandler(Servicer):
    """Reads routers, and runs rounds and evolutions on request."""

    async def ListRouters(
        self, request: pb.ListRoutersRequest, context: Context
    ) -> pb.ListRoutersResponse:
        banks = _parse_banks(request)
        at = await self._parse_as_of(request)
        member = _parse_member(request)
        page = parse_page(request, f"routers {request.bank} {at} {member or ''}")
        await self._wait_for(request, context)
        reflects = await self._build_reflects()
        if member is not None:
            holding = await self._find_routers_of(member)
            taste = await self._read_routers(BankName.TASTE, retired=True) if holding else []
            routers = [router for router in taste if router.number in holding]
        elif at is not None:
            routers = await self._list_past_routers(at, retired=False)
        else:
            routers = [
                router for bank in banks for router in await self._read_routers(bank, retired=False)
            ]
        return pb.ListRoutersResponse(
            routers=routers[page.start : page.end],
            reflects=reflects,
            next_page_token=page.create_next_token(page.end) if page.end < len(routers) else "",
        )

    async def GetRouter(
        self, request: pb.GetRouterRequest, context: Context
    ) -> pb.GetRouterResponse:
        (bank, *_) = _parse_banks(request)
        number = request.number if request.HasField("number") else None
        if number is None or number < 0:
            problem = "is missing" if number is None else f"is {number}"
            raise InvalidInput("number", f"{problem}; routers are numbered from 0")
        at = await self._parse_as_of(request)
        sees_users = admitted_caller.get().sees_users
        page = parse_page(request, f"members {bank} {number} {at} {sees_users}")
        await self._wait_for(request, context)
        reflects = await self._build_reflects()
        routers = await (
            self._read_routers(bank, retired=True)
            if at is None
            else self._list_past_routers(at, retired=True)
        )
        router = next((router for router in routers if router.number == number), None)
        if router is None:
            raise NotFound("router", str(number))
        members = await (
            self._list_session_members(router, page.end + 1)
            if bank == BankName.SESSION
            else self._list_taste_members(number, page.end + 1, at)
        )
        lineage = (
            await self._time_travel.get_lineage(number, router.epoch)
            if bank == BankName.TASTE
            else ()
        )
        return pb.GetRouterResponse(
            router=router,
            members=members[page.start : page.end],
            reflects=reflects,
            lineage=[lineage_to_proto(step) for step in lineage],
            next_page_token=page.create_next_token(page.end) if page.end < len(members) else "",
        )

    async def _parse_as_of(
        self, request: pb.ListRoutersRequest | pb.GetRouterRequest
    ) -> int | None:
        if request.HasField("as_of") and request.bank == pb.BANK_SESSION:
            raise InvalidInput(
                "as_of",
                "cannot be combined with BANK_SESSION: its past numbers are not kept",
            )
        return await parse_as_of(request, self._time_travel)

    async def _find_routers_of(self, member: ClientKey) -> frozenset[int]:
        """Find the taste routers whose table holds a client.

        Empty if too few users chose a listed item for the caller to know.

        Raises:
            NotFound: There is no such client, or the caller may not know of it.
        """
        require_reading_of(member, "ListRouters")
        ref = await self._find_ref(member)
        if await self._engine.find_rarely_chosen([ref], self._get_least_users()):
            return frozenset()
        edges = await self._store.get_edges([ref])
        return frozenset(edge.router for edge in edges.get(ref, ()))

    async def _read_routers(self, bank: BankName, *, retired: bool) -> list[pb.Router]:
        """Read a bank's routers as they are, without or with retired ones."""
        numbers = await self._engine.compute(read_router_numbers, bank)
        routers = [
            number
            for number in range(len(numbers.masses))
            if retired or number not in numbers.retired
        ]
        texts: dict[int, RouterVersion] = {}
        if bank == BankName.TASTE:
            members = await self._store.count_members(routers)
            texts = {
                version.router: version
                for version in await self._store.get_router_versions(routers)
            }
        else:
            members = dict(enumerate(numbers.trusting_users))
        return [
            _with_text(
                pb.Router(
                    number=number,
                    bank=BANKS[bank],
                    mass=numbers.masses[number],
                    members=members.get(number, 0),
                    epoch=numbers.epoch,
                    trusted_by=numbers.trusting_users[number],
                ),
                texts.get(number),
            )
            for number in routers
        ]

    async def _list_past_routers(self, at: int, *, retired: bool) -> list[pb.Router]:
        """Read the taste routers as they were, without or with retired ones."""
        return [
            _with_text(
                pb.Router(
                    number=past.number, bank=pb.BANK_TASTE, members=past.members, epoch=past.epoch
                ),
                past.text,
            )
            for past in await self._time_travel.get_routers(at)
            if retired or not past.retired
        ]

    async def _list_session_members(self, router: pb.Router, limit: int) -> list[pb.RouterMember]:
        items = await self._engine.compute(
            find_session_community, router.number, limit, self._get_least_users()
        )
        edges = [RoutingEdge(router.number, ref, lift, 0) for ref, lift in items]
        return await self._list_members(edges, router.members, None)

    async def _list_taste_members(
        self, number: int, limit: int, at: int | None
    ) -> list[pb.RouterMember]:
        """Read a taste router's first members that the caller may see.

        Users whom the caller may not know come first, as one number. Items that too few users chose
        are left out. From the past, all items are left out for a caller who is no analyst: a
        change of an item's lift could give away what a single user did.

        Args:
            limit: The largest number of members, not counting that first entry.
            at: A sequence; None means now.
        """
        sees_users = admitted_caller.get().sees_users
        rows = limit if sees_users else 1 << 31
        edges = await (
            self._store.get_members(number, rows)
            if at is None
            else self._time_travel.get_members(number, at, rows)
        )
        rare = await self._engine.find_rarely_chosen(
            [edge.ref for edge in edges], self._get_least_users(past=at is not None)
        )
        shown = [edge for edge in edges if edge.ref not in rare]
        visible = [edge for edge in shown if sees_users or get_kind(edge.ref) == ClientKind.ITEM]
        return await self._list_members(visible[:limit], len(shown) - len(visible), at)

    async def _list_members(
        self, edges: list[RoutingEdge], hidden_users: int, at: int | None
    ) -> list[pb.RouterMember]:
        clients = {
            client.ref: client
            for client in await self._store.get_clients([edge.ref for edge in edges], at)
        }
        members = [
            pb.RouterMember(
                client=key_to_proto(clients[edge.ref].key),
                title=clients[edge.ref].title,
                score=edge.score,
                from_sequence=edge.from_sequence if admitted_caller.get().sees_users else 0,
            )
            for edge in edges
            if edge.ref in clients
        ]
        return ([pb.RouterMember(count=hidden_users)] if hidden_users else []) + members

    async def RunRound(self, request: pb.RunRoundRequest, context: Context) -> pb.RunRoundResponse:
        try:
            done = await self._worker.run_round(drain=request.drain)
        except LeaseHeld:
            return pb.RunRoundResponse(
                note="another process is running a round; GetStatus shows it when it is done"
            )
        except RoundAbandoned as abandoned:
            return pb.RunRoundResponse(
                note=f"the round was abandoned: {abandoned}; the next one begins anew"
            )
        if done is not None:
            return pb.RunRoundResponse(round=round_to_proto(done))
        if not self._engine.propagates:
            return pb.RunRoundResponse(
                note="propagation is switched off (the setting propagate): no round was run"
            )
        return pb.RunRoundResponse(note=await self._explain_no_change(drained=request.drain))

    async def _explain_no_change(self, *, drained: bool) -> str:
        """Say since which round nothing changed, and how many entries are unreasoned."""
        last = await self._store.get_last_round()
        note = (
            f"nothing had changed since round {last.number}"
            if last
            else "there is nothing for a first round yet"
        )
        unreasoned = (
            await self._store.get_recorded_through() - await self._store.get_reasoned_through()
        )
        if unreasoned <= 0 or drained:  # entries that wait after a drain are newer than the call
            return note
        return (
            f"{note}; not reasoned yet: {pluralize(unreasoned, 'entry', 'entries')} of the log; set"
            " drain to include them"
        )

    async def EvolveRouters(
        self, request: pb.EvolveRoutersRequest, context: Context
    ) -> pb.EvolveRoutersResponse:
        undo = request.undo_run if request.HasField("undo_run") else None
        if undo is not None and undo < 1:
            raise InvalidInput("undo_run", f"is {undo}; runs are numbered from 1")
        run_within_call = (
            self._worker.run_preview if request.dry_run else self._worker.run_uninterrupted
        )
        run = await run_within_call(self._engine.evolve(dry_run=request.dry_run, undo=undo))
        return pb.EvolveRoutersResponse(run=evolution_to_proto(run))

    async def ListEvolutionRuns(
        self, request: pb.ListEvolutionRunsRequest, context: Context
    ) -> pb.ListEvolutionRunsResponse:
        page = parse_page(request, "evolution runs")  # it starts before the run of the token
        runs = await self._store.get_evolution_runs(page.size + 1, page.before)
        more = len(runs) > page.size
        succession = await self._engine.published_runs.load_succession()
        return pb.ListEvolutionRunsResponse(
            runs=[evolution_to_proto(run) for run in runs[: page.size]],
            standings=[
                pb.EvolutionStanding(
                    undone_by=succession.find_undoing_run(run.run),
                    current_routers=succession.list_current_routers(run),
                )
                for run in runs[: page.size]
            ],
            next_page_token=page.create_next_token(runs[page.size - 1].run) if more else "",
        )


def _parse_banks(request: pb.ListRoutersRequest | pb.GetRouterRequest) -> tuple[BankName, ...]:
    return parse_choice(request.bank, "bank", BANK_CHOICES, "BANK_TASTE, BANK_SESSION, or nothing")


def _parse_member(request: pb.ListRoutersRequest) -> ClientKey | None:
    if not request.HasField("member"):
        return None
    if request.bank == pb.BANK_SESSION or request.HasField("as_of"):
        raise InvalidInput(
            "member",
            "cannot be combined with BANK_SESSION, which has no table, or with as_of",
        )
    return parse_key(request.member, "member")


def _with_text(router: pb.Router, text: RouterVersion | None) -> pb.Router:
    if text is not None:
        router.name, router.text, router.version = text.name, text.text, text.version
        router.sequence, router.written_by = text.sequence, text.written_by
        router.attributes.extend(text.attributes)
    return router
