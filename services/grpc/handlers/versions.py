"""Texts by version: ListProfileVersions and ListRouterVersions."""

from propagation.model import (
    BankName,
    ClientKey,
    ClientKind,
    InvalidInput,
    NotFound,
    RouterEnd,
)
from propagation.v1 import propagation_pb2 as pb
from propagation.workflow.history.profile_versions import (
    ChangeCause,
    ProfileChange,
    ProfileChangePage,
    list_catalogue_changes,
    list_profile_changes,
)
from propagation.workflow.history.router_origins import EvolutionOrigin, find_evolution_origins
from propagation.workflow.history.router_versions import SentVersion, list_router_versions
from propagation.workflow.read.router_communities import read_router_numbers
from services.grpc.convert import (
    OUTCOMES,
    end_to_proto,
    key_to_proto,
    origin_to_proto,
    time_to_proto,
)
from services.grpc.handlers.servicer import Context, Servicer, require_reading_of
from services.grpc.requests import Page, parse_key, parse_limit, parse_page
from services.security.roles import admitted_caller

CAUSES = {
    ChangeCause.UNKNOWN: pb.PROFILE_CAUSE_UNSPECIFIED,
    ChangeCause.CATALOGUE: pb.PROFILE_CAUSE_CATALOGUE,
    ChangeCause.INTERACTION: pb.PROFILE_CAUSE_INTERACTION,
    ChangeCause.RECEPTION: pb.PROFILE_CAUSE_RECEPTION,
    ChangeCause.RETRACTION: pb.PROFILE_CAUSE_RETRACTION,
    ChangeCause.ERASURE: pb.PROFILE_CAUSE_ERASURE,
    ChangeCause.EVOLUTION: pb.PROFILE_CAUSE_EVOLUTION,
}
VERSIONS_A_PAGE, MOST_VERSIONS_A_PAGE = 20, 100
CLIENTS_NAMED, MOST_CLIENTS_NAMED = 10, 100


class VersionsHandler(Servicer):
    """Lists the versions of clients' and routers' texts."""

    async def ListProfileVersions(
        self, request: pb.ListProfileVersionsRequest, context: Context
    ) -> pb.ListProfileVersionsResponse:
        key = parse_key(request.key, "key")
        require_reading_of(key, "ListProfileVersions")
        whole = key.kind == ClientKind.USER or admitted_caller.get().sees_users
        page = parse_page(request, f"versions {whole} {int(key.kind)} {key.id}")
        found = await self._list_changes(await self._find_ref(key), page, whole=whole)
        token = ""
        if found.more:
            token = page.create_next_token(found.changes[-1].version if whole else page.end)
        names = await self._read_names(found)
        return pb.ListProfileVersionsResponse(
            versions=[_change_to_proto(change, names, whole=whole) for change in found.changes],
            next_page_token=token,
            oldest_sequence=await self._store.get_oldest_kept(),
        )

    async def _list_changes(self, ref: int, page: Page, *, whole: bool) -> ProfileChangePage:
        """List one page: all versions, or those that the catalogue wrote.

        A token names the version before which the page begins, or how many versions come before it:
        whoever may not know the numbers of versions does not find them in a token.
        """
        if whole:
            return await list_profile_changes(self._store, ref, page.before, page.size)
        return await list_catalogue_changes(self._store, ref, page.start, page.size)

    async def _read_names(self, found: ProfileChangePage) -> dict[tuple[int, int], str]:
        """Read the names of routers whose messages were merged or dropped."""
        keys = {
            (merge.router, merge.router_version)
            for change in found.changes
            for merge in change.messages
        }
        messages = await self._store.get_messages(sorted(keys), 1) if keys else {}
        return {key: message.name for key, message in messages.items()}

    async def ListRouterVersions(
        self, request: pb.ListRouterVersionsRequest, context: Context
    ) -> pb.ListRouterVersionsResponse:
        number = request.number if request.HasField("number") else None
        if number is None or number < 0:
            problem = "is missing" if number is None else f"is {number}"
            raise InvalidInput("number", f"{problem}; routers are numbered from 0")
        clients = parse_limit(request, "max_clients", CLIENTS_NAMED, MOST_CLIENTS_NAMED)
        sees_users = admitted_caller.get().sees_users
        through = request.through_version if request.HasField("through_version") else None
        if through is not None and through < 1:
            raise InvalidInput("through_version", f"is {through}; versions are numbered from 1")
        question = f"versions of router {number}" + (f" through {through}" if through else "")
        page = parse_page(request, question, VERSIONS_A_PAGE, MOST_VERSIONS_A_PAGE)
        before = page.before or (through + 1 if through else None)
        found = await list_router_versions(
            self._store, number, before, page.size, clients if sees_users else 0
        )
        if not found.versions:
            numbers = await self._engine.compute(read_router_numbers, BankName.TASTE)
            if number >= len(numbers.masses):
                raise NotFound("router", str(number))
        origins = await find_evolution_origins(self._store, [one.version for one in found.versions])
        succession = await self._engine.published_runs.load_succession()
        refs = sorted({ref for one in found.versions for ref in one.fate.first})
        keys = dict(zip(refs, await self._store.find_keys(refs), strict=True))
        return pb.ListRouterVersionsResponse(
            versions=[
                _sent_to_proto(
                    one,
                    origins.get((number, one.version.version)),
                    succession.find_end(number, one.version.sequence),
                    keys,
                )
                for one in found.versions
            ],
            next_page_token=(
                page.create_next_token(found.versions[-1].version.version) if found.more else ""
            ),
        )


def _change_to_proto(
    change: ProfileChange, names: dict[tuple[int, int], str], *, whole: bool
) -> pb.ProfileVersion:
    """Convert a version.

    Args:
        names: Names of routers by (router, version).
        whole: Whether the caller sees all lines, with their ids.
    """
    profile, lines = change.dated.text.profile, change.lines
    if not whole:
        assert lines is not None, "a version of the catalogue is one that was compared"
    return pb.ProfileVersion(
        version=change.version if whole else 0,
        sequence=change.dated.sequence,
        time=time_to_proto(change.dated.time),
        cause=CAUSES[change.cause],
        messages=[
            pb.DeliveredMessage(
                router=merge.router,
                router_version=merge.router_version,
                router_name=names.get((merge.router, merge.router_version), ""),
                outcome=OUTCOMES.get(merge.outcome, pb.MERGE_OUTCOME_UNSPECIFIED),
            )
            for merge in change.messages
        ],
        lines=len(profile.lines) if whole else change.count_catalogue_lines(),
        lines_added=None if lines is None else len(lines.added),
        lines_removed=None if lines is None else len(lines.removed),
        lines_changed=None if lines is None else len(lines.changed),
        added_line_ids=lines.added if whole and lines is not None else (),
        removed_line_ids=lines.removed if whole and lines is not None else (),
        changed_line_ids=lines.changed if whole and lines is not None else (),
        written_by=change.dated.written_by,
    )


def _sent_to_proto(
    one: SentVersion,
    origin: EvolutionOrigin | None,
    end: RouterEnd | None,
    keys: dict[int, ClientKey | None],
) -> pb.RouterVersion:
    version, fate = one.version, one.fate
    found = (keys[ref] for ref in fate.first)
    return pb.RouterVersion(
        version=version.version,
        name=version.name,
        text=version.text,
        attributes=version.attributes,
        sequence=version.sequence,
        time=time_to_proto(one.time),
        written_by=version.written_by,
        epoch=version.epoch,
        merged=fate.merged,
        filtered=fate.filtered,
        empty=fate.empty,
        fell_out=fate.fell_out,
        other=fate.other,
        clients=[key_to_proto(key) for key in found if key is not None],
        evolution=origin_to_proto(origin),
        end=end_to_proto(end),
    )
