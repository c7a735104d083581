"""Terms of the vocabulary that say the same to every caller, as the proto's messages."""

from google.protobuf.timestamp_pb2 import Timestamp

from propagation.model.clients.client import ClientKey, ClientKind
from propagation.model.clients.filter_memory import FilterRule
from propagation.model.clients.profile import Author
from propagation.model.routers.epoch import BankName
from propagation.model.routers.evolution import EvolutionKind, EvolutionRun
from propagation.model.routers.router import RouterVersion
from propagation.v1 import propagation_pb2 as pb

AUTHORS = {
    Author.CATALOGUE: pb.AUTHOR_CATALOGUE,
    Author.INTERACTION: pb.AUTHOR_INTERACTION,
    Author.RECEPTION: pb.AUTHOR_RECEPTION,
}
KINDS = {ClientKind.USER: pb.CLIENT_KIND_USER, ClientKind.ITEM: pb.CLIENT_KIND_ITEM}
EVOLUTIONS = {
    EvolutionKind.SPLIT: pb.EVOLUTION_KIND_SPLIT,
    EvolutionKind.MERGE: pb.EVOLUTION_KIND_MERGE,
    EvolutionKind.REWRITE: pb.EVOLUTION_KIND_REWRITE,
}
BANKS = {BankName.SESSION: pb.BANK_SESSION, BankName.TASTE: pb.BANK_TASTE}


def key_to_proto(key: ClientKey) -> pb.ClientKey:
    return pb.ClientKey(kind=KINDS[key.kind], id=key.id)


def message_to_proto(message: RouterVersion) -> pb.Message:
    return pb.Message(
        router=message.router,
        version=message.version,
        router_name=message.name,
        text=message.text,
        attributes=message.attributes,
        sequence=message.sequence,
    )


def evolution_to_proto(run: EvolutionRun) -> pb.EvolutionRun:
    return pb.EvolutionRun(
        run=run.run,
        sequence=run.sequence,
        published=run.published,
        verdict=run.verdict,
        undoes=run.undoes,
        log_loss_before=run.log_loss_before,
        log_loss_after=run.log_loss_after,
        standard_error=run.standard_error,
        time=Timestamp(seconds=run.time // 1_000, nanos=run.time % 1_000 * 1_000_000),
        changes=[
            pb.EvolutionChange(
                kind=EVOLUTIONS[change.kind],
                before=change.before,
                after=change.after,
                reason=change.reason,
            )
            for change in run.changes
        ],
    )


def rule_to_proto(rule: FilterRule) -> pb.FilterRule:
    shared = pb.FilterRule(factor=rule.factor, text=rule.text, evidence=rule.evidence, age=rule.age)
    if rule.router is not None:
        shared.router = rule.router
    else:
        shared.attribute = rule.attribute or ""
    return shared
