"""Terms of the vocabulary that read the same for every caller."""

from google.protobuf.timestamp_pb2 import Timestamp

from propagation.model import (
    Author,
    BankName,
    ClientKey,
    ClientKind,
    EvolutionKind,
    EvolutionRun,
    FilterRule,
    LineageStep,
    Round,
    RouterVersion,
)
from propagation.v1 import propagation_pb2 as pb

AUTHORS = {
    Author.CATALOGUE: pb.AUTHOR_CATALOGUE,
    Author.INTERACTION: pb.AUTHOR_INTERACTION,
    Author.RECEPTION: pb.AUTHOR_RECEPTION,
}
CLIENT_KINDS = {ClientKind.USER: pb.CLIENT_KIND_USER, ClientKind.ITEM: pb.CLIENT_KIND_ITEM}
EVOLUTION_KINDS = {
    EvolutionKind.SPLIT: pb.EVOLUTION_KIND_SPLIT,
    EvolutionKind.MERGE: pb.EVOLUTION_KIND_MERGE,
    EvolutionKind.REWRITE: pb.EVOLUTION_KIND_REWRITE,
}
BANKS = {BankName.SESSION: pb.BANK_SESSION, BankName.TASTE: pb.BANK_TASTE}


def key_to_proto(key: ClientKey) -> pb.ClientKey:
    """Convert a client's key."""
    return pb.ClientKey(kind=CLIENT_KINDS[key.kind], id=key.id)


def time_to_proto(time_ms: int) -> Timestamp | None:
    """Convert a time in milliseconds since 1970; 0 means none."""
    if not time_ms:
        return None
    return Timestamp(seconds=time_ms // 1_000, nanos=time_ms % 1_000 * 1_000_000)


def message_to_proto(message: RouterVersion) -> pb.Message:
    """Convert a router's version as the message that it is."""
    return pb.Message(
        router=message.router,
        version=message.version,
        router_name=message.name,
        text=message.text,
        attributes=message.attributes,
        sequence=message.sequence,
    )


def round_to_proto(round_: Round) -> pb.RoundReport:
    """Convert a published round."""
    return pb.RoundReport(
        number=round_.number,
        sequence=round_.sequence,
        boundary=round_.boundary,
        changed_clients=round_.changed,
        touched_routers=round_.touched,
        edges_opened=round_.edges_opened,
        edges_closed=round_.edges_closed,
        reached_clients=round_.reached,
    )


def evolution_to_proto(run: EvolutionRun) -> pb.EvolutionRun:
    """Convert an evolution run; a dry run has no time."""
    return pb.EvolutionRun(
        run=run.run,
        sequence=run.sequence,
        published=run.published,
        verdict=run.verdict,
        undoes=run.undoes,
        log_loss_before=run.log_loss_before,
        log_loss_after=run.log_loss_after,
        standard_error=run.standard_error,
        time=time_to_proto(run.time),
        changes=[
            pb.EvolutionChange(
                kind=EVOLUTION_KINDS[change.kind],
                before=change.before,
                after=change.after,
                reason=change.reason,
            )
            for change in run.changes
        ],
    )


def lineage_to_proto(step: LineageStep) -> pb.Lineage:
    """Convert a step of a router's lineage."""
    kind = EVOLUTION_KINDS[EvolutionKind(step.kind)]
    return pb.Lineage(before=step.before, after=step.after, kind=kind, run=step.run)


def rule_to_proto(rule: FilterRule) -> pb.FilterRule:
    """Convert a filter rule."""
    out = pb.FilterRule(factor=rule.factor, text=rule.text, evidence=rule.evidence, age=rule.age)
    if rule.router is not None:
        out.router = rule.router
    else:
        out.attribute = rule.attribute or ""
    return out
