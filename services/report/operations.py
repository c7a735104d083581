"""Rounds, evolution runs and other operations in words."""

from propagation.plurals import pluralize
from propagation.v1 import propagation_pb2 as pb


def describe_round(done: pb.RoundReport) -> str:
    """Return a round as one line."""
    return (
        f"round {done.number}: {pluralize(done.changed_clients, 'changed client')},"
        f" {pluralize(done.touched_routers, 'router')} sent a message,"
        f" {pluralize(done.edges_opened, 'edge')} opened, {done.edges_closed:,} closed,"
        f" {pluralize(done.reached_clients, 'client')} newly reached"
    )


def describe_operation(one: pb.Operation) -> str:
    """Return an operation as one line."""
    match one.kind:
        case pb.OPERATION_KIND_ROUND:
            return describe_round(one.round)
        case pb.OPERATION_KIND_EVOLUTION:
            return f"evolution {one.evolution.run}: {one.evolution.verdict}"
        case pb.OPERATION_KIND_BOOTSTRAP:
            return f"bootstrap: epoch {one.epoch} begins"
        case pb.OPERATION_KIND_RETRACTION:
            return "events were taken back"
        case pb.OPERATION_KIND_FACTORS:
            return "the ranker's factors were learned again"
        case pb.OPERATION_KIND_BACKUP:
            return f"back-up of {one.backup.bytes / (1 << 20):,.1f} MiB {one.backup.file}".rstrip()
        case _:
            return "a client was forgotten"
