"""ListOperations and GetMeasurements over real gRPC."""

import asyncio

import grpc
import pytest

from propagation.adapters.sqlite.maintenance.commands import SqliteFiles
from propagation.model import HOUR_MS, EvolutionRun, NewInteraction
from propagation.usage import Expenses, PromptCost, Usage
from propagation.v1 import propagation_pb2 as pb
from services.report.operations import describe_operation
from services.security.roles import Role
from tests.service.scenarios import ANN, catch_code, record_choices, upsert_records
from tests.service.status_details import read_field_violation

ROUND, EVOLUTION = pb.OPERATION_KIND_ROUND, pb.OPERATION_KIND_EVOLUTION
RETRACTION, ERASURE = pb.OPERATION_KIND_RETRACTION, pb.OPERATION_KIND_ERASURE
BOOTSTRAP, BACKUP = pb.OPERATION_KIND_BOOTSTRAP, pb.OPERATION_KIND_BACKUP


async def list_operations(service, size=100, **fields) -> list[pb.Operation]:
    found, token = [], ""
    while True:
        answer = await service.stub.ListOperations(
            pb.ListOperationsRequest(page_size=size, page_token=token, **fields)
        )
        assert len(answer.operations) <= size
        found += answer.operations
        token = answer.next_page_token
        if not token:
            return found


async def operate(service):
    """Bootstrap, two rounds, a run that is not published, a retraction, an erasure."""
    await upsert_records(service, [(f"i{n}", "jazz", None) for n in range(6)])
    await service.engine.init()
    for user in ("ann", "bob"):
        await record_choices(service, [(f"{user}-{n}", user, f"i{n}") for n in range(3)])
        await service.stub.RunRound(pb.RunRoundRequest(drain=True))
    await service.engine.store.save_evolution(EvolutionRun(verdict="worse, so not published"))
    await service.stub.RetractInteractions(pb.RetractInteractionsRequest(event_ids=["ann-0"]))
    await service.stub.ForgetClient(pb.ForgetClientRequest(key=ANN))


@pytest.mark.parametrize("size", [1, 2, 100])
async def test_operations_of_all_kinds_come_newest_first(service, size):
    await operate(service)
    found = await list_operations(service, size)
    kinds = [one.kind for one in found]
    assert kinds[:5] == [ERASURE, RETRACTION, EVOLUTION, ROUND, ROUND]
    assert BOOTSTRAP in kinds[5:]
    assert [one.round.number for one in found if one.kind == ROUND][:2] == [
        found[3].round.number,
        found[3].round.number - 1,
    ]
    assert found[3].round.changed_clients > 0
    assert found[3].round.sequence == found[3].sequence
    assert found[2].evolution.verdict == "worse, so not published"
    assert found[2].sequence == 0
    assert found[1].clients == 0, (
        "ann is forgotten, so nothing says that her events were taken back"
    )
    assert next(one.epoch for one in found if one.kind == BOOTSTRAP) > 0
    times = [one.time.ToNanoseconds() for one in found]
    assert times == sorted(times, reverse=True)
    assert all(times)


async def test_factors_that_are_learned_again_are_an_operation_of_their_own(service):
    await upsert_records(service, [(f"i{n}", "jazz", None) for n in range(6)])
    await record_choices(service, [(f"ann-{n}", "ann", f"i{n}") for n in range(3)])
    await service.stub.RunRound(pb.RunRoundRequest(drain=True))
    request = pb.RetractInteractionsRequest(event_ids=["ann-0"], wipe=True)
    await service.stub.RetractInteractions(request)
    found = await list_operations(service, kinds=[RETRACTION, pb.OPERATION_KIND_FACTORS])
    assert [(one.kind, describe_operation(one)) for one in found] == [
        (pb.OPERATION_KIND_FACTORS, "the ranker's factors were learned again"),
        (RETRACTION, "events were taken back"),
    ]


async def test_operations_are_selected_by_kind_and_time(service):
    await operate(service)
    everything = await list_operations(service)
    for kind in (ROUND, EVOLUTION, ERASURE):
        expected = [one for one in everything if one.kind == kind]
        assert expected
        assert await list_operations(service, 1, kinds=[kind]) == expected
    middle = everything[3].time
    later = [one for one in everything if one.time.ToNanoseconds() >= middle.ToNanoseconds()]
    assert await list_operations(service, 2, since=middle) == later
    assert await list_operations(service, 2, until=middle) == everything[len(later) :]
    if everything[0].time != middle:
        between = await list_operations(service, 1, since=middle, until=everything[0].time)
        assert between == [one for one in later if one.time != everything[0].time]


@pytest.mark.parametrize(("role", "sees_file"), [(Role.READ, False), (Role.ADMIN, True)])
async def test_back_ups_stand_among_the_others(start_service, tmp_path, role, sees_file):
    async with start_service(roles=(role,), auto_create=True) as service:
        engine = service.engine
        event = NewInteraction(event_id="e", user_id="ann", item_id="i", time=1, content_hash="h")
        await engine.record([event])
        await engine.drain()
        await engine.run_round()
        files = SqliteFiles(tmp_path / "graph.db")
        size = files.backup(tmp_path / "first", lambda done, total: None)
        await engine.retract(["e"])
        await asyncio.sleep(0.01)  # times are in milliseconds
        files.backup(tmp_path / "second", lambda done, total: None)
        for page in (1, 2, 100):
            found = await list_operations(service, page)
            assert [one.kind for one in found][:4] == [BACKUP, RETRACTION, BACKUP, ROUND]
        first = found[2].backup
        assert first.bytes == size
        assert first.file == (str(tmp_path / "first") if sees_file else "")
        only = await list_operations(service, 1, kinds=[BACKUP])
        assert only == [found[0], found[2]]
        assert await list_operations(service, kinds=[BACKUP], until=found[0].time) == only[1:]
        assert await list_operations(service, kinds=[BACKUP], since=found[0].time) == only[:1]


@pytest.mark.parametrize("call", ["ListOperations", "GetMeasurements"])
async def test_what_is_wrong_is_named(service, call):
    message = {"ListOperations": pb.ListOperationsRequest}.get(call, pb.GetMeasurementsRequest)
    late, early = {"seconds": 2_000}, {"seconds": 1_000}
    cases = [({"since": late, "until": early}, "until"), ({"since": {"seconds": -1}}, "since")]
    if call == "ListOperations":
        cases += [
            ({"kinds": [0]}, "kinds[0]"),
            ({"kinds": [ROUND, 99]}, "kinds[1]"),
            ({"kinds": [ROUND] * 8}, "kinds"),
            ({"page_size": 1_001}, "page_size"),
            ({"page_token": "forged.5.5.5"}, "page_token"),
        ]
    for fields, field in cases:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await getattr(service.stub, call)(message(**fields))
        assert read_field_violation(caught.value).field == field


@pytest.mark.parametrize("role", Role)
async def test_reading_suffices(start_service, role):
    may = role not in (Role.APPLICATION, Role.WRITE)
    expected = grpc.StatusCode.OK if may else grpc.StatusCode.PERMISSION_DENIED
    async with start_service(roles=(role,)) as service:
        for call in (
            service.stub.ListOperations(pb.ListOperationsRequest()),
            service.stub.GetMeasurements(pb.GetMeasurementsRequest()),
        ):
            assert await catch_code(call) == expected


async def read_measurements(service, **fields):
    return await service.stub.GetMeasurements(pb.GetMeasurementsRequest(**fields))


async def test_the_gauge_is_measured_and_outlasts_a_restart(start_service):
    async with start_service(auto_create=True) as service:
        assert await read_measurements(service) == pb.GetMeasurementsResponse()
        await upsert_records(service, [(f"i{n}", "jazz", None) for n in range(9)])
        await record_choices(service, [(f"e{n}", f"u{n % 3}", f"i{n}") for n in range(9)])
        await service.engine.drain()
        live = (await service.stub.GetStatus(pb.GetStatusRequest())).gauge
        assert live.interactions
    # The service has noted the gauge when it stopped.
    async with start_service(auto_create=True) as service:
        [measured] = (await read_measurements(service)).gauge
        assert measured.interactions == live.interactions
        assert measured.with_propagation == live.with_propagation
        assert measured.without == live.without
        assert (measured.seconds, measured.start.seconds % 3_600) == (3_600, 0)
        later = (measured.start.seconds + 3_600) * 1_000
        assert not await service.engine.note_measurements(later), "nothing was ranked since"
        await record_choices(service, [("new", "u0", "i8")])
        await service.engine.drain()
        assert await service.engine.note_measurements(later)
        gauges = (await read_measurements(service)).gauge
        assert [one.interactions for one in gauges] == [
            live.interactions,
            live.interactions + 1,
        ]
        [part] = (await read_measurements(service, since=gauges[1].start)).gauge
        assert part == gauges[1]


async def test_spending_of_all_processes_is_added_by_hour(service, monkeypatch):
    engine, start = service.engine, 500_000 * HOUR_MS

    def spend(calls):
        cost = PromptCost(calls=calls, prompt_tokens=10 * calls, seconds=0.5, money=0.1 * calls)
        monkeypatch.setattr(
            type(engine), "expenses", Expenses(this_run=Usage((("forward@4", cost),)))
        )

    spend(2)
    assert await engine.note_measurements(start)
    spend(5)
    assert await engine.note_measurements(start + 60_000)
    assert not await engine.note_measurements(start + 61_000)
    spend(6)
    assert await engine.note_measurements(start + HOUR_MS)
    found = (await read_measurements(service)).spending
    assert [(one.calls, one.prompt_tokens) for one in found] == [(5, 50), (1, 10)]
    assert found[0].money == pytest.approx(0.5)
    days = (await read_measurements(service, by_day=True)).spending
    assert sum(one.calls for one in days) == 6
    assert {one.seconds for one in days} == {86_400}
    assert engine.expenses.this_run.total.calls == 6


async def test_another_process_that_notes_now_is_waited_for_next_time(service, monkeypatch):
    engine = service.engine
    cost = PromptCost(calls=3)
    monkeypatch.setattr(type(engine), "expenses", Expenses(this_run=Usage((("a@1", cost),))))
    lease = await engine.store.acquire_lease("measurements", "another", 60_000)
    assert not await engine.note_measurements(5 * HOUR_MS)
    await engine.store.release_lease(lease)
    assert await engine.note_measurements(6 * HOUR_MS)
    [spent] = (await read_measurements(service)).spending
    assert spent.calls == 3
