"""Terms of the vocabulary that say the same to every caller, as the proto's messages."""

from propagation.model.client import ClientKey, ClientKind
from propagation.model.epoch import BankName
from propagation.model.filter_memory import FilterRule
from propagation.model.profile import Author
from propagation.model.router import RouterVersion
from propagation.v1 import propagation_pb2 as pb

AUTHORS = {Author.CATALOGUE: pb.AUTHOR_CATALOGUE, Author.INTERACTION: pb.AUTHOR_INTERACTION,
           Author.RECEPTION: pb.AUTHOR_RECEPTION}
KINDS = {ClientKind.USER: pb.CLIENT_KIND_USER, ClientKind.ITEM: pb.CLIENT_KIND_ITEM}
BANKS = {BankName.SESSION: pb.BANK_SESSION, BankName.TASTE: pb.BANK_TASTE}


def key_to_proto(key: ClientKey) -> pb.ClientKey:
    return pb.ClientKey(kind=KINDS[key.kind], id=key.id)


def message_to_proto(message: RouterVersion) -> pb.Message:
    return pb.Message(router=message.router, version=message.version, router_name=message.name, text=message.text,
                      attributes=message.attributes, sequence=message.sequence)


def rule_to_proto(rule: FilterRule) -> pb.FilterRule:
    shared = pb.FilterRule(factor=rule.factor, text=rule.text, evidence=rule.evidence, age=rule.age)
    if rule.router is not None:
        shared.router = rule.router
    else:
        shared.attribute = rule.attribute or ""
    return shared
