"""Errors of calls: a status, rich details, and nothing of the service's inside."""

import grpc
import pytest

from propagation import errors
from propagation.ports import VersionClash
from propagation.v1 import propagation_pb2 as pb
from services.grpc.status import build_status
from tests.service.status_details import read_error_info, read_field_violation, read_request_info


async def test_a_wrong_field_is_named(service):
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await service.stub.GetProfile(pb.GetProfileRequest(key=pb.ClientKey(id="ann")))
    assert read_field_violation(caught.value).field == "key.kind"


async def test_an_unknown_client_is_not_found(service):
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await service.stub.GetProfile(
            pb.GetProfileRequest(key=pb.ClientKey(kind=pb.CLIENT_KIND_USER, id="nobody"))
        )
    assert caught.value.code() == grpc.StatusCode.NOT_FOUND
    info = read_error_info(caught.value)
    assert (info.reason, info.metadata["name"]) == ("NOT_KNOWN", "nobody")


@pytest.mark.parametrize(
    "error",
    [
        errors.ReasonerFailed("no answer"),
        errors.ReasonerUnavailable("no answer"),
        errors.EndpointUnavailable("no answer"),
    ],
)
def test_every_failure_of_a_reasoner_may_be_retried(error):
    code, _ = build_status(error, str)
    assert code == grpc.StatusCode.UNAVAILABLE


async def test_a_merge_that_loses_every_race_is_aborted_and_may_be_repeated(service, monkeypatch):
    lost = []

    async def raise_clash(ref):
        lost.append(ref)
        raise VersionClash(ref)

    key = pb.ClientKey(kind=pb.CLIENT_KIND_ITEM, id="contested")
    await service.stub.UpsertClients(pb.UpsertClientsRequest(clients=[pb.Client(key=key)]))
    request = pb.GetProfileRequest(key=key, freshness=pb.FRESHNESS_MERGED)
    with monkeypatch.context() as patch:
        patch.setattr(service.engine.profile_reader, "_merge", raise_clash)
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await service.stub.GetProfile(request)
    assert len(lost) == 5
    assert caught.value.code() == grpc.StatusCode.ABORTED
    assert read_error_info(caught.value).reason == "VERSION_CLASH"
    assert "try again" in caught.value.details()
    assert (await service.stub.GetProfile(request)).profile.key == key


async def test_a_fault_shows_a_request_id_only(service, monkeypatch):
    async def raise_error(_):
        raise RuntimeError("secret inside")

    monkeypatch.setattr(service.engine.store, "find_refs", raise_error)
    request = pb.GetProfileRequest(key=pb.ClientKey(kind=pb.CLIENT_KIND_USER, id="ann"))
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await service.stub.GetProfile(request, metadata=(("x-request-id", "mine-7"),))
    assert caught.value.code() == grpc.StatusCode.INTERNAL
    assert "secret" not in str(caught.value)
    assert read_request_info(caught.value).request_id == "mine-7"


async def test_a_deadline_that_passes_during_the_answer_is_no_fault(service, capfd):
    capfd.readouterr()
    codes = set()
    for number in range(150):
        event = pb.Interaction(event_id=f"late-{number}", user_id="ann", item_id="i1")
        try:
            await service.stub.RecordInteractions(
                pb.RecordInteractionsRequest(interactions=[event]), timeout=0.001 + number * 1e-4
            )
        except grpc.aio.AioRpcError as error:
            codes.add(error.code())
    assert codes == {grpc.StatusCode.DEADLINE_EXCEEDED}
    log = "".join(capfd.readouterr())
    assert "Traceback" not in log
    assert "request failed" not in log
