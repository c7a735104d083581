"""TracePropagation: paths of preferences, each hop and the whole in words."""

from collections.abc import AsyncIterator, Iterable, Sequence

from propagation.model import (
    Author,
    ClientKind,
    EvolutionKind,
    InteractionRow,
    InvalidInput,
    NotFound,
    RouterVersion,
    check_entry,
    check_id,
    get_kind,
    join_names,
)
from propagation.v1 import propagation_pb2 as pb
from propagation.workflow.engine import Engine
from propagation.workflow.history.router_origins import EvolutionOrigin
from propagation.workflow.history.trace import AttributeHop, Hop, Path, ProfileHop
from services.grpc.convert import (
    CLIENT_KINDS,
    interaction_to_proto,
    line_to_proto,
    message_to_proto,
    origin_to_proto,
    parties_to_proto,
)
from services.grpc.handlers.servicer import Context, Servicer, require_reading_of
from services.grpc.requests import parse_key, parse_limit
from services.grpc.visibility import References, load_references
from services.security.roles import Role, admitted_caller

UNNAMED = {ClientKind.USER: "a user", ClientKind.ITEM: "an item"}
BYTES_OF_LENGTH = 8  # at most so many stand before each path in an answer
SPARE_BYTES = 16
PATHS_READ = 4  # up to 4 times the limit are read, to find paths that reached a profile


async def load_path_references(
    engine: Engine, paths: Sequence[Path], named: Iterable[int]
) -> References:
    """Load everything that the hops of paths refer to.

    Args:
        named: Refs of the clients whom the call names.
    """
    hops = [hop for path in paths for hop in path]
    profiles = [hop for hop in hops if isinstance(hop, ProfileHop)]
    return await load_references(
        engine,
        named=named,
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
            if references.reads_all(hop.user)
            else UNNAMED[ClientKind.ITEM]
        )
        return pb.Hop(
            interaction=interaction_to_proto(hop.sequence, references),
            sequence=hop.sequence,
            text=f"{references.name(hop.user)} chose {item}{_describe_writer(hop)}",
        )
    if isinstance(hop, AttributeHop):
        return pb.Hop(
            attribute=pb.AttributeHop(name=hop.name, router=hop.router, router_version=hop.version),
            text=_describe_attribute(hop),
        )
    if isinstance(hop, RouterVersion):
        origin = references.origins.get((hop.router, hop.version))
        return pb.Hop(
            message=message_to_proto(hop),
            sequence=hop.sequence,
            text=_describe_message(hop, origin),
            evolution=origin_to_proto(origin),
        )
    shown = references.shows(hop.line, hop.ref)
    hidden = (
        f"the profile of {UNNAMED[get_kind(hop.ref)]}, in a line that too few users stand behind"
    )
    return pb.Hop(
        profile=_profile_hop_to_proto(hop, references),
        text=_describe_profile(hop, references) if shown else hidden,
    )


def _profile_hop_to_proto(hop: ProfileHop, references: References) -> pb.ProfileHop:
    shown, whole = references.shows(hop.line, hop.ref), references.reads_all(hop.ref)
    number = hop.line.id if hop.line and whole else 0
    return pb.ProfileHop(
        client=parties_to_proto([hop.ref], references) if shown else pb.Parties(count=1),
        kind=CLIENT_KINDS[get_kind(hop.ref)],
        version=hop.version if whole else 0,
        title=references.title(hop.ref) if shown else "",
        line=(
            line_to_proto(number, hop.line, references, whole=whole) if shown and hop.line else None
        ),
    )


def _describe_message(message: RouterVersion, origin: EvolutionOrigin | None) -> str:
    router = f"router {message.router} ({message.name})"
    if origin is None:
        return f"{router} told its community: {message.text}"
    written = f"what evolution run {origin.run} wrote when it {_describe_origin(origin)}"
    return f"{router} told its community {written}: {message.text}"


def _describe_origin(origin: EvolutionOrigin) -> str:
    """Say what an evolution did when it wrote a message, after "it"."""
    if origin.undoes is not None:
        return f"undid run {origin.undoes}"
    before = join_names([str(number) for number in origin.before])
    match origin.kind:
        case EvolutionKind.SPLIT:
            return f"split router {before}"
        case EvolutionKind.MERGE:
            return f"merged routers {before}"
        case _:
            return f"rewrote router {before}"


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
        end: ProfileHop | None = None
        if request.WhichOneof("origin") == "line":
            end, found = await self._find_paths_to_line(request.line)
            named: Sequence[int] = [end.ref]
        else:
            found, named = await self._find_paths(request)
        paths = await select_paths(found, limit)
        shown = paths[:limit]
        if request.HasField("event_id"):
            named = [path[0].user for path in shown if isinstance(path[0], InteractionRow)]
        ends: list[Path] = [] if end is None else [(end,)]
        references = await load_path_references(self._engine, [*shown, *ends], named)
        answer = pb.TracePropagationResponse(
            truncated=len(paths) > limit,
            reflects=reflects,
            line=None if end is None else _profile_hop_to_proto(end, references),
        )
        room = self._loaded.settings.server.max_message_bytes - answer.ByteSize() - SPARE_BYTES
        for path in shown:
            told = path_to_proto(path, references)
            room -= told.ByteSize() + BYTES_OF_LENGTH
            if room < 0 and answer.paths:
                answer.truncated = True
                break
            answer.paths.append(told)
        return answer

    async def _find_paths(
        self, request: pb.TracePropagationRequest
    ) -> tuple[AsyncIterator[Path], Sequence[int]]:
        """Return the paths, and the refs of clients that the call names."""
        tracer, caller = self._engine.tracer, admitted_caller.get()
        match request.WhichOneof("origin"):
            case "event_id":
                caller.require("TracePropagation of an event", Role.PERSONS)
                return tracer.trace_event(check_id(request.event_id, "event_id")), ()
            case "client":
                key = parse_key(request.client, "client")
                require_reading_of(key, "TracePropagation")
                ref = await self._find_ref(key)
                rare = await self._engine.find_rarely_chosen([ref], self._get_least_users())
                return tracer.trace_client(ref, with_events=ref not in rare), [ref]
            case "attribute":
                attribute = check_entry(request.attribute, "attribute")
                return tracer.trace_attribute(attribute, self._get_least_users()), ()
            case _:
                raise InvalidInput(
                    "origin", "is missing; give one of event_id, client, attribute, line"
                )

    async def _find_paths_to_line(
        self, asked: pb.LineOfProfile
    ) -> tuple[ProfileHop, AsyncIterator[Path]]:
        """Find a line by the caller's number, and its paths.

        Raises:
            NotFound: There is no such version or line, or the caller may not read the line.
            VersionTooOld: Retention dropped the version.
            NotAllowed: A version of an item was named, and the caller may not know it: it would
                tell of each event.
        """
        key = parse_key(asked.client, "line.client")
        require_reading_of(key, "TracePropagation")
        version = asked.version if asked.HasField("version") else None
        if version is not None and version < 1:
            raise InvalidInput("line.version", f"is {version}; versions are numbered from 1")
        if version is not None and key.kind == ClientKind.ITEM:
            admitted_caller.get().require("TracePropagation at an item's version", Role.ANALYST)
        tracer, ref = self._engine.tracer, await self._find_ref(key)
        profile = await tracer.read_profile(ref, version)
        references = await load_references(self._engine, profile.lines, refs=[ref], named=[ref])
        known = references.number_lines(profile.lines, ref)
        if asked.line_id not in known:
            raise NotFound("line", str(asked.line_id))
        line = known[asked.line_id]
        return ProfileHop(ref, profile.version, line), tracer.trace_line(profile, line)


async def select_paths(found: AsyncIterator[Path], limit: int) -> list[Path]:
    """Select the first paths; those that reached a profile come first.

    About four times as many paths as the limit are read at most.

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
