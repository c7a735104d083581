"""Paths of preferences, each hop and the whole in words."""

from collections.abc import Sequence

from propagation.model import Author, InteractionRow, RouterVersion, kind_of
from propagation.ports import GraphStore
from propagation.v1 import propagation_pb2 as pb
from propagation.workflow.history.trace import AttributeHop, Hop, Path, ProfileHop
from services.grpc.convert.profiles import interaction_to_proto, line_to_proto
from services.grpc.convert.references import References, load_references
from services.grpc.convert.vocabulary import CLIENT_KINDS, message_to_proto
from services.security.roles import Caller


async def load_path_references(
    store: GraphStore, caller: Caller, paths: Sequence[Path]
) -> References:
    """Load everything that the hops of paths refer to."""
    hops = [hop for path in paths for hop in path]
    profiles = [hop for hop in hops if isinstance(hop, ProfileHop)]
    return await load_references(
        store,
        caller,
        lines=[hop.line for hop in profiles if hop.line is not None],
        refs=[hop.ref for hop in profiles],
        interactions=[hop for hop in hops if isinstance(hop, InteractionRow)],
        messages=[hop for hop in hops if isinstance(hop, RouterVersion)],
    )


def path_to_proto(path: Path, references: References) -> pb.Path:
    """Convert a path."""
    hops = [_hop_to_proto(hop, references) for hop in path]
    return pb.Path(hops=hops, text=" → ".join(hop.text for hop in hops))


def _hop_to_proto(hop: Hop, references: References) -> pb.Hop:
    if isinstance(hop, InteractionRow):
        user, item = references.name(hop.user), references.name(hop.item)
        return pb.Hop(
            interaction=interaction_to_proto(hop.sequence, references),
            sequence=hop.sequence,
            text=f"{user} chose {item}{_describe_writer(hop)}",
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
    profile = pb.ProfileHop(
        client=references.parties([hop.ref]),
        kind=CLIENT_KINDS[kind_of(hop.ref)],
        version=hop.version,
        title=references.title(hop.ref),
        line=None if hop.line is None else line_to_proto(hop.line, references),
    )
    return pb.Hop(profile=profile, text=_describe_profile(hop, references))


def _describe_writer(hop: InteractionRow) -> str:
    """Name the prompts or the fallback that wrote an interaction's texts, if there were any."""
    if hop.stand_in:
        return f" (written by the stand-in {hop.stand_in})"
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
