"""ListRouters and GetRouter."""

from collections.abc import Sequence

from propagation.model.clients.client import ClientKind, kind_of
from propagation.model.errors import InvalidInput, NotFound
from propagation.model.routers.epoch import BankName
from propagation.model.routers.router import RouterVersion
from propagation.v1 import propagation_pb2 as pb
from propagation.workflow.history.time_travel import PastRouter
from propagation.workflow.read.router_communities import (
    count_session_users,
    router_masses,
    session_community,
)
from services.grpc.convert.vocabulary import BANKS, key_to_proto
from services.grpc.handlers.rounds_and_evolution import step_to_proto
from services.grpc.handlers.servicer import Context, Servicer
from services.grpc.requests.as_of import as_of
from services.grpc.requests.paging import page_size_of, start_of, token_for
from services.security.roles import Caller, current_caller

ALL = 1 << 31
ASKED = {
    pb.BANK_UNSPECIFIED: (BankName.TASTE, BankName.SESSION),
    pb.BANK_TASTE: (BankName.TASTE,),
    pb.BANK_SESSION: (BankName.SESSION,),
}


class Routers(Servicer):
    """Routers of both banks, and their members, now or as of a sequence."""

    async def ListRouters(
        self, request: pb.ListRoutersRequest, context: Context
    ) -> pb.ListRoutersResponse:
        banks = _banks(request)
        at = await self._at(request)
        size = page_size_of(request.page_size if request.HasField("page_size") else None)
        question = f"routers {request.bank} {at}"
        start = start_of(request.page_token, question)
        if request.HasField("min_sequence"):
            await self._wait_for(request.min_sequence, context)
        reflects = await self._reflects()
        routers = (
            [
                router
                for bank in banks
                for router in await self._routers(bank)
                if self._is_there(bank, router.number)
            ]
            if at is None
            else [_past_router(past) for past in await self._past_routers(at) if not past.retired]
        )
        more = start + size < len(routers)
        return pb.ListRoutersResponse(
            routers=routers[start : start + size],
            reflects=reflects,
            next_page_token=token_for(question, start + size) if more else "",
        )

    async def GetRouter(
        self, request: pb.GetRouterRequest, context: Context
    ) -> pb.GetRouterResponse:
        (bank, *_) = _banks(request)
        if not request.HasField("number"):
            raise InvalidInput("number", "is missing; routers are numbered from 0")
        if request.number < 0:
            raise InvalidInput("number", f"is {request.number}; routers are numbered from 0")
        at = await self._at(request)
        size = page_size_of(request.page_size if request.HasField("page_size") else None)
        question = f"members {bank} {request.number} {at}"
        start = start_of(request.page_token, question)
        if request.HasField("min_sequence"):
            await self._wait_for(request.min_sequence, context)
        reflects = await self._reflects()
        routers = (
            await self._routers(bank)
            if at is None
            else [_past_router(past) for past in await self._past_routers(at)]
        )
        router = next((router for router in routers if router.number == request.number), None)
        if router is None:
            raise NotFound("router", str(request.number))
        members = await self._members(bank, request.number, start + size + 1, at, current_caller())
        more = start + size < len(members)
        return pb.GetRouterResponse(
            router=router,
            members=members[start : start + size],
            reflects=reflects,
            lineage=await self._lineage(bank, router),
            next_page_token=token_for(question, start + size) if more else "",
        )

    async def _at(self, request: pb.ListRoutersRequest | pb.GetRouterRequest) -> int | None:
        """The sequence that is asked for; None: now."""
        if not request.HasField("as_of"):
            return None
        if request.bank == pb.BANK_SESSION:
            raise InvalidInput(
                "as_of",
                "does not go with BANK_SESSION: its routers have neither texts nor a routing table",
            )
        return await as_of(request, self._engine.past)

    async def _past_routers(self, at: int) -> Sequence[PastRouter]:
        past = self._engine.past
        return await past.routers(at)

    def _is_there(self, bank: BankName, number: int) -> bool:
        """Evolution retires numbers of the taste bank; GetRouter still says what became of them."""
        return bank == BankName.SESSION or number in self._engine.routers

    async def _lineage(self, bank: BankName, router: pb.Router) -> list[pb.Lineage]:
        """What the router came from and what it became, by run, since the newest bootstrap and up
        to the epoch that is told of."""
        if bank == BankName.SESSION:
            return []
        store = self._engine.store
        runs = {one.run for one in (await store.router_maps()).maps if one.to_epoch <= router.epoch}
        return [
            step_to_proto(step)
            for step in await store.router_lineage()
            if step.run in runs and router.number in (step.before, step.after)
        ]

    async def _routers(self, bank: BankName) -> list[pb.Router]:
        store, engine = self._engine.store, self._engine
        mass = await engine.read_numbers(router_masses, bank)
        epoch = await store.current_epoch()
        texts: dict[int, RouterVersion] = {}
        if bank == BankName.TASTE:
            members = await store.count_members(range(len(mass)))
            texts = {
                version.router: version for version in await store.router_versions(range(len(mass)))
            }
        else:
            members = dict(enumerate(await engine.read_numbers(count_session_users)))
        return [
            _router(
                number,
                bank,
                mass[number],
                members.get(number, 0),
                epoch.number if epoch else 0,
                texts.get(number),
            )
            for number in range(len(mass))
        ]

    async def _members(
        self, bank: BankName, number: int, limit: int, at: int | None, caller: Caller
    ) -> list[pb.RouterMember]:
        """The first `limit` of them; before them how many users there are where the caller may not
        know whom."""
        store, past, engine = self._engine.store, self._engine.past, self._engine
        if bank == BankName.SESSION:
            community = await engine.read_numbers(session_community, number, limit)
            rows, hidden = [(ref, lift, 0) for ref, lift in community.items], community.users
        else:
            most = limit if caller.sees_users else ALL
            edges = await (
                store.members_of(number, most) if at is None else past.members(number, at, most)
            )
            rows = [
                (edge.ref, edge.score, edge.from_sequence)
                for edge in edges
                if caller.sees_users or kind_of(edge.ref) == ClientKind.ITEM
            ]
            hidden = len(edges) - len(rows)
        clients = {
            client.ref: client
            for client in await store.get_clients([ref for ref, _, _ in rows[:limit]], at)
        }
        named = [
            pb.RouterMember(
                client=key_to_proto(clients[ref].key),
                title=clients[ref].title,
                score=score,
                from_sequence=since,
            )
            for ref, score, since in rows[:limit]
            if ref in clients
        ]
        return ([pb.RouterMember(count=hidden)] if hidden else []) + named


def _banks(request: pb.ListRoutersRequest | pb.GetRouterRequest) -> tuple[BankName, ...]:
    if request.bank not in ASKED:
        raise InvalidInput("bank", f"is {request.bank}; give BANK_TASTE, BANK_SESSION, or nothing")
    return ASKED[request.bank]


def _past_router(past: PastRouter) -> pb.Router:
    return _router(past.number, BankName.TASTE, 0.0, past.members, past.epoch, past.text)


def _router(
    number: int, bank: BankName, mass: float, members: int, epoch: int, text: RouterVersion | None
) -> pb.Router:
    router = pb.Router(number=number, bank=BANKS[bank], mass=mass, members=members, epoch=epoch)
    if text is not None:
        router.name, router.text, router.version, router.sequence = (
            text.name,
            text.text,
            text.version,
            text.sequence,
        )
        router.attributes.extend(text.attributes)
        router.written_by = text.written_by
    return router
