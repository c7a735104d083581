"""ListRouters and GetRouter."""

from propagation.model.epoch import BankName
from propagation.model.errors import InvalidInput, NotFound
from propagation.model.router import RouterVersion
from propagation.v1 import propagation_pb2 as pb
from propagation.workflow.communities import masses, session_community, session_users
from services.errors import NotServed
from services.grpc.base import Context, Servicer
from services.grpc.convert import BANKS, key_to_proto
from services.grpc.paging import page_size_of, start_of, token_for
from services.grpc.roles import caller_of

ASKED = {pb.BANK_UNSPECIFIED: (BankName.TASTE, BankName.SESSION), pb.BANK_TASTE: (BankName.TASTE,),
         pb.BANK_SESSION: (BankName.SESSION,)}


class Routers(Servicer):
    """Routers of both banks, and their members."""

    async def ListRouters(self, request: pb.ListRoutersRequest, context: Context) -> pb.ListRoutersResponse:
        banks = _banks(request, context)
        size = page_size_of(request.page_size if request.HasField("page_size") else None)
        question = f"routers {request.bank}"
        start = start_of(request.page_token, question)
        if request.HasField("min_sequence"):
            await self._wait_for(request.min_sequence, context)
        reflects = await self._reflects()
        routers = [router for bank in banks for router in await self._routers(bank)]
        more = start + size < len(routers)
        return pb.ListRoutersResponse(routers=routers[start : start + size], reflects=reflects,
                                      next_page_token=token_for(question, start + size) if more else "")

    async def GetRouter(self, request: pb.GetRouterRequest, context: Context) -> pb.GetRouterResponse:
        (bank, *_) = _banks(request, context)
        if not request.HasField("number"):
            raise InvalidInput("number", "is missing; routers are numbered from 0")
        size = page_size_of(request.page_size if request.HasField("page_size") else None)
        question = f"members {bank} {request.number}"
        start = start_of(request.page_token, question)
        if request.HasField("min_sequence"):
            await self._wait_for(request.min_sequence, context)
        reflects = await self._reflects()
        routers = await self._routers(bank)
        if not 0 <= request.number < len(routers):
            raise NotFound("router", str(request.number))
        members = await self._members(bank, request.number, start + size + 1, context)
        more = start + size < len(members)
        return pb.GetRouterResponse(router=routers[request.number], members=members[start : start + size], reflects=reflects,
                                    next_page_token=token_for(question, start + size) if more else "")

    async def _routers(self, bank: BankName) -> list[pb.Router]:
        store, numbers = self._engine.store, self._engine.numbers
        mass = await numbers.run(masses, bank)
        epoch = await store.current_epoch()
        texts: dict[int, RouterVersion] = {}
        if bank == BankName.TASTE:
            members = await store.count_members(range(len(mass)))
            texts = {version.router: version for version in await store.router_versions(range(len(mass)))}
        else:
            members = dict(enumerate(await numbers.run(session_users)))
        return [_router(number, bank, mass[number], members.get(number, 0), epoch.number if epoch else 0, texts.get(number))
                for number in range(len(mass))]

    async def _members(self, bank: BankName, number: int, limit: int, context: Context) -> list[pb.RouterMember]:
        store, sees_users = self._engine.store, caller_of(context).sees_users
        if bank == BankName.SESSION:
            community = await self._engine.numbers.run(session_community, number, limit)
            rows = [(ref, lift, 0) for ref, lift in community.items]
            hidden = community.users
        else:
            edges = await store.members_of(number, limit)
            rows = [(edge.ref, edge.score, edge.from_sequence) for edge in edges if sees_users or edge.ref & 1]
            hidden = len(edges) - len(rows)
        clients = {client.ref: client for client in await store.get_clients([ref for ref, _, _ in rows])}
        named = [pb.RouterMember(client=key_to_proto(clients[ref].key), title=clients[ref].title, score=score,
                                 from_sequence=since) for ref, score, since in rows if ref in clients]
        return ([pb.RouterMember(count=hidden)] if hidden else []) + named


def _banks(request: pb.ListRoutersRequest | pb.GetRouterRequest, context: Context) -> tuple[BankName, ...]:
    if request.HasField("as_of"):
        raise NotServed("as_of of routers", "0.2")
    if request.bank not in ASKED:
        raise InvalidInput("bank", f"is {request.bank}; give BANK_TASTE, BANK_SESSION, or nothing")
    return ASKED[request.bank]


def _router(number: int, bank: BankName, mass: float, members: int, epoch: int, text: RouterVersion | None) -> pb.Router:
    router = pb.Router(number=number, bank=BANKS[bank], mass=mass, members=members, epoch=epoch)
    if text is not None:
        router.name, router.text, router.version, router.sequence = text.name, text.text, text.version, text.sequence
        router.attributes.extend(text.attributes)
    return router
