"""Paths as the proto's messages, each hop and the whole in words."""

from collections.abc import Sequence

from propagation.model.clients.client import kind_of
from propagation.model.clients.profile import Author
from propagation.model.interactions.interaction import InteractionRow
from propagation.model.routers.router import RouterVersion
from propagation.ports.graph.graph_store import GraphStore
from propagation.v1 import propagation_pb2 as pb
from propagation.workflow.history.trace import AttributeHop, Hop, Path, ProfileHop
from services.grpc.convert.profiles import interaction_to_proto, line_to_proto
from services.grpc.convert.references import Facts, facts_of
from services.grpc.convert.vocabulary import KINDS, message_to_proto
from services.security.roles import Caller


async def facts_of_paths(store: GraphStore, caller: Caller, paths: Sequence[Path]) -> Facts:
    """What all hops refer to."""
    hops = [hop for path in paths for hop in path]
    profiles = [hop for hop in hops if isinstance(hop, ProfileHop)]
    return await facts_of(
        store,
        caller,
        lines=[hop.line for hop in profiles if hop.line is not None],
        refs=[hop.ref for hop in profiles],
        interactions=[hop for hop in hops if isinstance(hop, InteractionRow)],
        messages=[hop for hop in hops if isinstance(hop, RouterVersion)],
    )


def path_to_proto(path: Path, facts: Facts) -> pb.Path:
    hops = [_hop(hop, facts) for hop in path]
    return pb.Path(hops=hops, text=" \N{RIGHTWARDS ARROW} ".join(hop.text for hop in hops))


def _hop(hop: Hop, facts: Facts) -> pb.Hop:
    if isinstance(hop, InteractionRow):
        return pb.Hop(
            interaction=interaction_to_proto(hop.sequence, facts),
            sequence=hop.sequence,
            text=f"{facts.said(hop.user)} chose {facts.said(hop.item)}{_said_writer(hop)}",
        )
    if isinstance(hop, AttributeHop):
        return pb.Hop(
            attribute=pb.AttributeHop(name=hop.name, router=hop.router), text=_said_attribute(hop)
        )
    if isinstance(hop, RouterVersion):
        return pb.Hop(
            message=message_to_proto(hop),
            sequence=hop.sequence,
            text=f"router {hop.router} ({hop.name}) told its community: {hop.text}",
        )
    return _profile_hop(hop, facts)


def _said_writer(hop: InteractionRow) -> str:
    """What wrote the texts, where it was no model alone by the one that is set."""
    if hop.stand_in:
        return f" (written by the stand-in {hop.stand_in})"
    return f" (written by {', '.join(hop.prompts)})" if hop.prompts else ""


def _said_attribute(hop: AttributeHop) -> str:
    if hop.router is None:
        return f"its attribute {hop.name!r} waits for a round, or is held by too few"
    return f"its attribute {hop.name!r} went to router {hop.router}"


def _profile_hop(hop: ProfileHop, facts: Facts) -> pb.Hop:
    profile = pb.ProfileHop(
        client=facts.parties([hop.ref]),
        kind=KINDS[kind_of(hop.ref)],
        version=hop.version,
        title=facts.title(hop.ref),
        line=None if hop.line is None else line_to_proto(hop.line, facts),
    )
    return pb.Hop(profile=profile, text=_said_profile(hop, facts))


def _said_profile(hop: ProfileHop, facts: Facts) -> str:
    who = facts.said(hop.ref)
    if hop.line is None:
        return f"the profile of {who} took it up, in a line that is no longer kept"
    verb = "heard of it, and reads" if hop.line.author == Author.RECEPTION else "reads"
    return f"the profile of {who} {verb}: {hop.line.text}"
