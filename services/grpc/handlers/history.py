"""History: ListOperations and GetMeasurements."""

from google.protobuf.timestamp_pb2 import Timestamp

from propagation.model import Backup, GaugeMeasurement, InvalidInput, SpendingMeasurement
from propagation.v1 import propagation_pb2 as pb
from propagation.workflow.history.operations import (
    Operation,
    OperationKind,
    OperationPlace,
    find_operation_place,
    list_operations,
)
from services.grpc.convert import evolution_to_proto, round_to_proto, time_to_proto
from services.grpc.handlers.servicer import Context, Servicer
from services.grpc.requests import (
    check_count,
    make_token,
    parse_choice,
    parse_limit,
    parse_time,
    read_token,
)
from services.security.roles import Role, admitted_caller

OPERATION_KINDS = {
    OperationKind.BOOTSTRAP: pb.OPERATION_KIND_BOOTSTRAP,
    OperationKind.ROUND: pb.OPERATION_KIND_ROUND,
    OperationKind.EVOLUTION: pb.OPERATION_KIND_EVOLUTION,
    OperationKind.RETRACTION: pb.OPERATION_KIND_RETRACTION,
    OperationKind.FACTORS: pb.OPERATION_KIND_FACTORS,
    OperationKind.ERASURE: pb.OPERATION_KIND_ERASURE,
    OperationKind.BACKUP: pb.OPERATION_KIND_BACKUP,
}
KINDS_ASKED = {number: kind for kind, number in OPERATION_KINDS.items()}
LAST_MS = 1 << 56  # after all times that a request may name


class HistoryHandler(Servicer):
    """Lists operations, and reads measurements over time."""

    async def ListOperations(
        self, request: pb.ListOperationsRequest, context: Context
    ) -> pb.ListOperationsResponse:
        check_count(request.kinds, "kinds", len(OPERATION_KINDS))
        kinds = frozenset(
            parse_choice(kind, f"kinds[{place}]", KINDS_ASKED, "kinds of operations, or nothing")
            for place, kind in enumerate(request.kinds)
        )
        since, until = _parse_range(request)
        size = parse_limit(request, "page_size", default=100)
        question = f"operations {sorted(kinds)} {since} {until}"
        if request.page_token:
            place = OperationPlace(*read_token(request.page_token, "page_token", question, 3))
        else:
            place = await find_operation_place(self._store, until)
        page = await list_operations(
            self._store, kinds or set(OperationKind), since or 0, place, size
        )
        following = page.next_place
        return pb.ListOperationsResponse(
            operations=[_operation_to_proto(one) for one in page.operations],
            next_page_token=(
                make_token(question, following.sequence, following.run, following.backup)
                if following
                else ""
            ),
        )

    async def GetMeasurements(
        self, request: pb.GetMeasurementsRequest, context: Context
    ) -> pb.GetMeasurementsResponse:
        since, until = _parse_range(request)
        kept = await self._engine.measurements.read()
        if request.by_day:
            kept = kept.join_to_days()
        shown = kept.select(since or 0, LAST_MS if until is None else until)
        return pb.GetMeasurementsResponse(
            gauge=map(_gauge_to_proto, shown.gauge),
            spending=map(_spending_to_proto, shown.spending),
        )


def _parse_range(
    request: pb.ListOperationsRequest | pb.GetMeasurementsRequest,
) -> tuple[int | None, int | None]:
    """Return `since` and `until` in milliseconds since 1970; None where absent.

    Raises:
        InvalidInput: A time is wrong, or `until` is not after `since`.
    """

    def parse(field: str, time: Timestamp) -> int | None:
        return parse_time(time, field) if request.HasField(field) else None  # type: ignore[arg-type]

    since, until = parse("since", request.since), parse("until", request.until)
    if since is not None and until is not None and until <= since:
        raise InvalidInput("until", "is not after since; give a later time, or leave one out")
    return since, until


def _operation_to_proto(operation: Operation) -> pb.Operation:
    entry = operation.entry
    return pb.Operation(
        kind=OPERATION_KINDS[operation.kind],
        sequence=operation.sequence,
        time=time_to_proto(operation.time),
        round=round_to_proto(operation.round) if operation.round else None,
        evolution=evolution_to_proto(operation.run) if operation.run else None,
        backup=_backup_to_proto(operation.backup) if operation.backup else None,
        epoch=entry.number if entry and operation.kind == OperationKind.BOOTSTRAP else None,
        clients=len(entry.refs) if entry and operation.kind == OperationKind.RETRACTION else None,
    )


def _backup_to_proto(backup: Backup) -> pb.BackupReport:
    """Convert a back-up; its file is for the role admin."""
    is_admin = Role.ADMIN in admitted_caller.get().roles
    return pb.BackupReport(file=backup.file if is_admin else "", bytes=backup.bytes)


def _gauge_to_proto(measured: GaugeMeasurement) -> pb.GaugeMeasurement:
    return pb.GaugeMeasurement(
        start=_start_to_proto(measured.start),
        seconds=measured.length // 1_000,
        interactions=measured.interactions,
        with_propagation=measured.with_propagation,
        without=measured.without,
        standard_error=measured.standard_error,
    )


def _spending_to_proto(measured: SpendingMeasurement) -> pb.SpendingMeasurement:
    return pb.SpendingMeasurement(
        start=_start_to_proto(measured.start),
        seconds=measured.length // 1_000,
        calls=measured.calls,
        cached=measured.cached,
        prompt_tokens=measured.prompt_tokens,
        completion_tokens=measured.completion_tokens,
        model_seconds=measured.seconds,
        money=measured.money,
    )


def _start_to_proto(start: int) -> Timestamp:
    return Timestamp(seconds=start // 1_000)
