"""TracePropagation: paths of preferences, each hop and the whole in words."""

from collections.abc import AsyncIterator, Sequence

from propagation.model import (
    Author,
    ClientKind,
    InteractionRow,
    InvalidInput,
    NotFound,
    RouterVersion,
    check_entry,
    check_id,
    get_kind,
)
from propagation.ports import GraphStore
from propagation.v1 import propagation_pb2 as pb
from propagation.workflow.engine import Engine
from propagation.workflow.history.trace import AttributeHop, Hop, Path, ProfileHop
from services.grpc.convert import (
    CLIENT_KINDS,
    interaction_to_proto,
    line_to_proto,
    message_to_proto,
    parties_to_proto,
)
from services.grpc.handlers.servicer import Context, Servicer, require_reading_of
from services.grpc.requests import parse_key, parse_limit
from services.grpc.visibility import References, load_references
from services.security.roles import Caller, Role, admitted_caller

UNNAMED = {ClientKind.USER: "a user", ClientKind.ITEM: "an item"}
PATHS_READ = 4  # times the limit, while looking for paths that reached a profile


async def load_path_references(
    engine: Engine, store: GraphStore, caller: Caller, paths: Sequence[Path]
) -> References:
    """Load everything that the hops of paths refer to."""
    hops = [hop for path in paths for hop in path]
    profiles = [hop for hop in hops if isinstance(hop, ProfileHop)]
    return await load_references(
        engine,
        store,
        caller,
        lines=[hop.line for hop in profiles if hop.line is not None],
        refs=[hop.ref for hop in profiles],
        interactions=[hop for hop in hops if isinstance(hop, InteractionRow)],
        messages=[hop for hop in hops if isinstance(hop, RouterVersion)],
    )


def path_to_proto(path: Path, references: References) -> pb.Path:
    """Convert a path, with the texts of its hops in one line."""
    hops = [_hop_to_proto(hop, references) for hop in path]
    return pb.Path(hops=hops, text=" → ".join(hop.text for hop in hops))


def _hop_to_proto(hop: Hop, references: References) -> pb.Hop:
    if isinstance(hop, InteractionRow):
        item = (
            references.name(hop.item)
            if references.caller.reads_persons
            else UNNAMED[ClientKind.ITEM]
        )
        return pb.Hop(
            interaction=interaction_to_proto(hop.sequence, references),
            sequence=hop.sequence,
            text=f"{references.name(hop.user)} chose {item}{_describe_writer(hop)}",
        )
    if isinstance(hop, AttributeHop):
        return pb.Hop(
            attribute=pb.AttributeHop(name=hop.name, router=hop.router),
            text=_describe_attribute(hop),
        )
    if isinstance(hop, RouterVersion):
        return pb.Hop(
            message=message_to_proto(hop),
            sequence=hop.sequence,
            text=f"router {hop.router} ({hop.name}) told its community: {hop.text}",
        )
    shown = references.shows(hop.line, hop.ref)
    profile = pb.ProfileHop(
        client=parties_to_proto([hop.ref], references) if shown else pb.Parties(count=1),
        kind=CLIENT_KINDS[get_kind(hop.ref)],
        version=hop.version if references.reads_all(hop.ref) else 0,
        title=references.title(hop.ref) if shown else "",
        line=line_to_proto(hop.line, references) if shown and hop.line else None,
    )
    hidden = (
        f"the profile of {UNNAMED[get_kind(hop.ref)]}, in a line that too few users stand behind"
    )
    return pb.Hop(profile=profile, text=_describe_profile(hop, references) if shown else hidden)


def _describe_writer(hop: InteractionRow) -> str:
    """Name the prompts or the fallback that wrote an interaction's texts.

    Returns:
        Empty if there were none.
    """
    if hop.fallback:
        return f" (written by the fallback {hop.fallback})"
    return f" (written by {', '.join(hop.prompts)})" if hop.prompts else ""


def _describe_attribute(hop: AttributeHop) -> str:
    if hop.router is None:
        return f"its attribute {hop.name!r} waits for a round, or too few clients hold it"
    return f"its attribute {hop.name!r} went to router {hop.router}"


def _describe_profile(hop: ProfileHop, references: References) -> str:
    name = references.name(hop.ref)
    if hop.line is None:
        return f"the profile of {name} took it up, in a line that is no longer kept"
    verb = "heard of it, and reads" if hop.line.author == Author.RECEPTION else "reads"
    return f"the profile of {name} {verb}: {hop.line.text}"


class TracePropagationHandler(Servicer):
    """Finds the paths that preferences took."""

    async def TracePropagation(
        self, request: pb.TracePropagationRequest, context: Context
    ) -> pb.TracePropagationResponse:
        limit = parse_limit(request, "limit", default=20)
        reflects = await self._build_reflects()
        paths = await select_paths(await self._find_paths(request), limit)
        shown = paths[:limit]
        references = await load_path_references(
            self._engine, self._store, _find_caller(request), shown
        )
        if request.WhichOneof("origin") == "line":
            lines = [hop for path in shown for hop in path[-1:] if isinstance(hop, ProfileHop)]
            if any(hop.line and not references.shows(hop.line, hop.ref) for hop in lines):
                raise NotFound("line", str(request.line.line_id))
        return pb.TracePropagationResponse(
            paths=[path_to_proto(path, references) for path in shown],
            truncated=len(paths) > limit,
            reflects=reflects,
        )

    async def _find_paths(self, request: pb.TracePropagationRequest) -> AsyncIterator[Path]:
        tracer, caller = self._engine.tracer, admitted_caller.get()
        match request.WhichOneof("origin"):
            case "event_id":
                caller.require("TracePropagation of an event", Role.PERSONS)
                return tracer.trace_event(check_id(request.event_id, "event_id"))
            case "client":
                key = parse_key(request.client, "client")
                require_reading_of(key, "TracePropagation")
                ref = await self._engine.find_ref(key)
                rare = await self._engine.find_rarely_chosen([ref], self._get_least_users())
                return tracer.trace_client(ref, with_events=ref not in rare)
            case "attribute":
                return tracer.trace_attribute(
                    check_entry(request.attribute, "attribute"), self._get_least_users()
                )
            case "line":
                key = parse_key(request.line.client, "line.client")
                require_reading_of(key, "TracePropagation")
                return tracer.trace_line(await self._engine.find_ref(key), request.line.line_id)
            case _:
                raise InvalidInput(
                    "origin", "is missing; give one of event_id, client, attribute, line"
                )


def _find_caller(request: pb.TracePropagationRequest) -> Caller:
    """Return the caller.

    What the role persons adds is for traces of users that the call names.
    """
    caller = admitted_caller.get()
    names_user = (
        request.HasField("event_id")
        or request.client.kind == pb.CLIENT_KIND_USER
        or request.line.client.kind == pb.CLIENT_KIND_USER
    )
    if names_user or caller.sees_users:
        return caller
    return Caller.of_token(caller.name, (Role.READ,))


async def select_paths(found: AsyncIterator[Path], limit: int) -> list[Path]:
    """Select the first paths.

    Those that reached a profile come before those that end at a router. Reads at most four times as
    many paths as the limit.

    Returns:
        More than `limit` paths if there are more.
    """
    reached: list[Path] = []
    waiting: list[Path] = []
    async for path in found:
        (reached if isinstance(path[-1], ProfileHop) else waiting).append(path)
        if len(reached) > limit or len(reached) + len(waiting) > PATHS_READ * limit:
            break
    return reached + waiting
