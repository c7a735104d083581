"""Errors over the wire: a status, rich details, and nothing of our inside."""

import grpc
import pytest
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo, RequestInfo
from google.rpc.status_pb2 import Status

from propagation.v1 import propagation_pb2 as pb


def details_of(error: grpc.aio.AioRpcError) -> Status:
    return Status.FromString(dict(error.trailing_metadata())["grpc-status-details-bin"])


async def test_a_wrong_field_is_named(service):
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await service.stub.GetProfile(pb.GetProfileRequest(key=pb.ClientKey(id="ann")))
    assert caught.value.code() == grpc.StatusCode.INVALID_ARGUMENT
    detail = BadRequest()
    assert details_of(caught.value).details[0].Unpack(detail)
    assert detail.field_violations[0].field == "key.kind"


async def test_an_unknown_client_is_not_found(service):
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await service.stub.GetProfile(
            pb.GetProfileRequest(key=pb.ClientKey(kind=pb.CLIENT_KIND_USER, id="nobody"))
        )
    assert caught.value.code() == grpc.StatusCode.NOT_FOUND
    detail = ErrorInfo()
    assert details_of(caught.value).details[0].Unpack(detail)
    assert (detail.reason, detail.metadata["name"]) == ("NOT_KNOWN", "nobody")


async def test_a_fault_of_ours_shows_a_request_id_only(service, monkeypatch):
    async def broken(_):
        raise RuntimeError("secret inside")

    monkeypatch.setattr(service.engine.store, "find_refs", broken)
    request = pb.GetProfileRequest(key=pb.ClientKey(kind=pb.CLIENT_KIND_USER, id="ann"))
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await service.stub.GetProfile(request, metadata=(("x-request-id", "mine-7"),))
    assert caught.value.code() == grpc.StatusCode.INTERNAL
    assert "secret" not in str(caught.value)
    detail = RequestInfo()
    assert details_of(caught.value).details[1].Unpack(detail)
    assert detail.request_id == "mine-7"


async def test_a_call_whose_deadline_passes_while_it_is_answered_is_no_fault(service, capfd):
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
    assert codes <= {grpc.StatusCode.DEADLINE_EXCEEDED}
    assert codes
    said = "".join(capfd.readouterr())
    assert "Traceback" not in said
    assert "request failed" not in said
