"""TLS, mutual TLS, tokens with roles, rotation during a run, and rate limits."""

import asyncio
import logging
import os
import re
import ssl
import time
from collections import Counter
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from itertools import count

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from structlog.testing import capture_logs

from propagation.errors import InvalidInput
from propagation.v1 import propagation_pb2 as pb
from propagation.v1.propagation_pb2_grpc import PropagationServiceStub
from propagation.workflow.settings import WorkflowSettings
from propagation_client import Credentials
from services.client.errors import Refused
from services.client.stub import connect
from services.config.settings import (
    LimitSettings,
    MonitoringSettings,
    ServerSettings,
    Settings,
    TlsSettings,
)
from services.grpc import interceptor
from services.runtime.errors import NotLoopback
from services.security import reloaded_file
from services.security.address import refuse_open_address
from services.security.admission import Admission, NotAuthenticated
from services.security.rate_limits import CLIENTS, RateLimited
from services.security.reloaded_file import ReloadedFiles
from services.security.roles import ROLES_BY_CALL, Role
from services.security.tls import BrokenTls
from services.security.tokens import BrokenTokens, create_token, read_tokens, write_tokens
from services.server import run_service
from tests.service.certificates import make_authority, make_certificate
from tests.service.conftest import SMALL
from tests.service.scenarios import catch_code

STATUS = pb.GetStatusRequest()
EVENTS = pb.RecordInteractionsRequest(
    interactions=[pb.Interaction(event_id="e", user_id="ann", item_id="i")]
)
SIMILAR = pb.SimilarClientsRequest(key=pb.ClientKey(kind=pb.CLIENT_KIND_USER, id="ann"))


@pytest.fixture(scope="module")
def pki(tmp_path_factory):
    """(authority, server, caller, another authority)."""
    folder = tmp_path_factory.mktemp("pki")
    ca, other = make_authority(folder, "ca"), make_authority(folder, "other")
    return ca, make_certificate(folder, "server", ca), make_certificate(folder, "caller", ca), other


@pytest.fixture
def tokens(tmp_path):
    """(the file, secrets by role)."""
    made = {role: create_token(f"my-{role}", [role]) for role in Role}
    path = tmp_path / "tokens"
    write_tokens(path, [token for _, token in made.values()])
    return path, {role: secret for role, (secret, _) in made.items()}


@asynccontextmanager
async def start_service(tmp_path, monitoring=MonitoringSettings(), **server):  # noqa: B008  # a value
    settings = Settings(
        monitoring=monitoring,
        database=tmp_path / "graph.db",
        reasoning_in="loop",
        server=ServerSettings(port=0, grace_seconds=0.2, **server),
        workflow=WorkflowSettings(**SMALL, auto_create=True),
    )
    async with run_service(settings) as started:
        yield started


def make_tls_settings(server, client_ca=None):
    return TlsSettings(
        certificate=server.certificate,
        key=server.key,
        client_ca=client_ca and client_ca.certificate,
    )


def bearer(secret):
    return (("authorization", f"Bearer {secret}"),)


async def test_a_service_with_tls_refuses_plain_calls_and_unknown_authorities(tmp_path, pki):
    ca, server, _, other = pki
    async with start_service(tmp_path, tls=make_tls_settings(server)) as started:
        async with connect(started.address, Credentials(ca=ca.certificate, tls=True)) as stub:
            assert (await stub.GetStatus(STATUS)).version
        for channel in (
            grpc.aio.insecure_channel(started.address),
            grpc.aio.secure_channel(
                started.address, grpc.ssl_channel_credentials(other.certificate.read_bytes())
            ),
        ):
            async with channel:
                assert (
                    await catch_code(PropagationServiceStub(channel).GetStatus(STATUS, timeout=2))
                    == grpc.StatusCode.UNAVAILABLE
                )


async def test_mutual_tls_needs_a_signed_certificate(tmp_path, pki):
    ca, server, caller, _ = pki
    async with start_service(tmp_path, tls=make_tls_settings(server, ca)) as started:
        credentials = Credentials(
            tls=True, ca=ca.certificate, certificate=caller.certificate, key=caller.key
        )
        async with connect(started.address, credentials) as stub:
            assert (await stub.GetStatus(STATUS)).version
        async with Credentials(tls=True, ca=ca.certificate).channel(started.address) as channel:
            assert (
                await catch_code(PropagationServiceStub(channel).GetStatus(STATUS, timeout=2))
                == grpc.StatusCode.UNAVAILABLE
            )


async def test_each_role_allows_its_calls_only(tmp_path, tokens, pki):
    path, secrets = tokens
    ca, server, _, _ = pki
    may = {
        Role.APPLICATION: {"record", "recommend"},
        Role.WRITE: {"record"},
        Role.READ: {"status"},
        Role.PERSONS: {"status", "recommend", "profile", "trace"},
        Role.ANALYST: {"status", "recommend", "profile", "trace", "similar users"},
        Role.ADMIN: {"record", "status", "recommend", "profile", "trace", "round"},
    }
    user = pb.ClientKey(kind=pb.CLIENT_KIND_USER, id="ann")
    async with (
        start_service(tmp_path, tls=make_tls_settings(server), tokens=path) as started,
        Credentials(tls=True, ca=ca.certificate).channel(started.address) as channel,
    ):
        stub = PropagationServiceStub(channel)
        for role in (Role.ADMIN, *Role):
            with_token = {"metadata": bearer(secrets[role])}
            codes = {
                "record": await catch_code(stub.RecordInteractions(EVENTS, **with_token)),
                "status": await catch_code(stub.GetStatus(STATUS, **with_token)),
                "similar users": await catch_code(stub.SimilarClients(SIMILAR, **with_token)),
                "recommend": await catch_code(
                    stub.Recommend(pb.RecommendRequest(user_id="ann"), **with_token)
                ),
                "profile": await catch_code(
                    stub.GetProfile(pb.GetProfileRequest(key=user), **with_token)
                ),
                "trace": await catch_code(
                    stub.TracePropagation(pb.TracePropagationRequest(event_id="e"), **with_token)
                ),
                "round": await catch_code(stub.RunRound(pb.RunRoundRequest(), **with_token)),
            }
            assert {what for what, code in codes.items() if code == grpc.StatusCode.OK} == may[
                role
            ], role
            assert set(codes.values()) == {grpc.StatusCode.OK, grpc.StatusCode.PERMISSION_DENIED}
        stream = stub.StreamInteractions(metadata=bearer(secrets[Role.READ]))  # type: ignore[call-arg]
        assert await catch_code(stream.read()) == grpc.StatusCode.PERMISSION_DENIED


async def test_without_a_known_token_only_health_answers(tmp_path, tokens):
    path, secrets = tokens
    name, _, secret = secrets[Role.ADMIN].partition(".")
    async with (
        start_service(tmp_path, tokens=path) as started,
        grpc.aio.insecure_channel(started.address) as channel,
    ):
        stub = PropagationServiceStub(channel)
        for metadata in (
            (),
            bearer(""),
            bearer(name),
            bearer(f"{name}.{secret[:-1]}"),
            bearer(f"my-read.{secret}"),
            (("authorization", f"Basic {secrets[Role.ADMIN]}"),),
        ):
            assert (
                await catch_code(stub.GetStatus(STATUS, metadata=metadata))
                == grpc.StatusCode.UNAUTHENTICATED
            )
        assert await catch_code(stub.StreamInteractions().read()) == grpc.StatusCode.UNAUTHENTICATED  # type: ignore[call-arg]
        health = health_pb2_grpc.HealthStub(channel)
        assert (
            await health.Check(health_pb2.HealthCheckRequest())
        ).status == health_pb2.HealthCheckResponse.SERVING
        async with connect(started.address, Credentials(token=secrets[Role.READ])) as mine:
            assert (await mine.GetStatus(STATUS)).version
        with pytest.raises(Refused, match="role application or write"):
            async with connect(started.address, Credentials(token=secrets[Role.READ])) as mine:
                await mine.RecordInteractions(EVENTS)


async def test_a_changed_tokens_file_takes_effect_during_a_run(tmp_path, tokens, monkeypatch):
    path, secrets = tokens
    monkeypatch.setattr(reloaded_file, "CHECK_SECONDS", 0.0)
    async with (
        start_service(tmp_path, tokens=path) as started,
        grpc.aio.insecure_channel(started.address) as channel,
    ):

        async def read_status(secret):
            return await catch_code(
                PropagationServiceStub(channel).GetStatus(STATUS, metadata=bearer(secret))
            )

        fresh, token = create_token("fresh", [Role.READ])
        assert [await read_status(secrets[Role.READ]), await read_status(fresh)] == [
            grpc.StatusCode.OK,
            grpc.StatusCode.UNAUTHENTICATED,
        ]
        write_tokens(path, [token])
        assert [await read_status(secrets[Role.READ]), await read_status(fresh)] == [
            grpc.StatusCode.UNAUTHENTICATED,
            grpc.StatusCode.OK,
        ]
        path.write_text("half a li")
        assert await read_status(fresh) == grpc.StatusCode.OK, "after a malformed file"
        path.unlink()
        assert await read_status(fresh) == grpc.StatusCode.OK, "after the file was removed"


@pytest.mark.slow
async def test_a_token_expires_during_a_run_for_calls_and_open_streams(tmp_path, monkeypatch):
    monkeypatch.setattr(interceptor, "RECHECK_SECONDS", 0.05)
    monkeypatch.setattr(reloaded_file, "CHECK_SECONDS", 0.0)
    path = tmp_path / "tokens"
    write_tokens(path, [])
    async with (
        start_service(tmp_path, tokens=path) as started,
        grpc.aio.insecure_channel(started.address) as channel,
    ):
        end = datetime.now(UTC) + timedelta(seconds=2)
        short, token = create_token("short", [Role.READ], end)
        write_tokens(path, [token])
        assert read_tokens(path) == {"short": token}
        stub = PropagationServiceStub(channel)
        watching = stub.WatchPropagation(pb.WatchPropagationRequest(), metadata=bearer(short))
        await watching.initial_metadata()
        assert (
            await catch_code(stub.GetStatus(STATUS, metadata=bearer(short))) == grpc.StatusCode.OK
        )
        with pytest.raises(grpc.aio.AioRpcError, match="'short' expired at 2") as caught:
            await asyncio.wait_for(read_to_end(watching), 10)
        assert caught.value.code() == grpc.StatusCode.UNAUTHENTICATED
        assert datetime.now(UTC) >= end
        assert (
            await catch_code(stub.GetStatus(STATUS, metadata=bearer(short)))
            == grpc.StatusCode.UNAUTHENTICATED
        )


@pytest.mark.slow  # five seconds, for which answers are held back
async def test_wrong_tokens_are_slowed_down_and_right_ones_of_the_same_address_are_not(
    tmp_path, tokens
):
    path, secrets = tokens
    async with (
        start_service(tmp_path, MonitoringSettings(port=0), tokens=path) as started,
        grpc.aio.insecure_channel(started.address) as channel,
    ):
        stub = PropagationServiceStub(channel)
        began = time.monotonic()

        async def guess(number):
            code = await catch_code(
                stub.GetStatus(STATUS, metadata=bearer(f"my-read.guess-{number}"))
            )
            return code, time.monotonic() - began

        guesses = [asyncio.create_task(guess(number)) for number in range(40)]
        await asyncio.sleep(0.5)
        for _ in range(20):
            start = time.monotonic()
            assert await stub.GetStatus(STATUS, metadata=bearer(secrets[Role.READ]))
            assert time.monotonic() - start < 0.5
        answers = await asyncio.gather(*guesses)
        codes = Counter(code for code, _ in answers)
        assert codes == {
            grpc.StatusCode.UNAUTHENTICATED: 15,
            grpc.StatusCode.RESOURCE_EXHAUSTED: 25,
        }, "ten at once, five that wait, and no more that wait"
        late = sorted(
            at for code, at in answers if code == grpc.StatusCode.UNAUTHENTICATED and at > 0.8
        )
        assert len(late) == 5
        assert late[-1] > 4.5
        assert started.worker.timings["GetStatus"].longest < 1, (
            "what is held back is not what readers wait for"
        )


def test_wrong_tokens_are_counted_by_address_and_a_bounded_number_of_addresses_is_kept(tokens):
    path, secrets = tokens
    admission = Admission(path, LimitSettings())

    def guess(peer):
        """Return the delay; None if it is refused at once."""
        try:
            admission.admit("/x/y", bearer("my-read.guess"), peer)
        except NotAuthenticated as error:
            return error.delay_seconds
        except RateLimited:
            return None
        raise AssertionError("a wrong token was admitted")

    delays = [guess(f"ipv4:10.0.0.1:{port}") for port in range(100)]
    assert delays[:10] == [0] * 10
    assert [round(delay) for delay in delays[10:15]] == [1, 2, 3, 4, 5]
    assert set(delays[15:]) == {None}
    assert guess("ipv4:10.0.0.2:1") == 0
    assert admission.admit("/x/y", bearer(secrets[Role.READ]), "ipv4:10.0.0.1:1").name == "my-read"
    for host in range(20):
        guess(f"ipv6:%5B2001:db8::{host:x}%5D:1")
    assert guess("ipv6:%5B2001:db8::ffff%5D:1") is None, "one machine has a whole network"
    assert guess("ipv6:%5B2001:db8:0:1::1%5D:1") == 0
    for host in range(2 * CLIENTS):
        guess(f"ipv4:10.{host >> 16}.{host >> 8 & 255}.{host & 255}:1")
    assert len(admission._wrong._buckets) == CLIENTS


async def read_to_end(stream):
    while await stream.read() is not grpc.aio.EOF:
        pass


async def test_a_stream_ends_when_its_token_is_withdrawn(tmp_path, tokens, monkeypatch):
    path, secrets = tokens
    monkeypatch.setattr(reloaded_file, "CHECK_SECONDS", 0.0)
    monkeypatch.setattr(interceptor, "RECHECK_SECONDS", 0.05)
    async with (
        start_service(tmp_path, tokens=path) as started,
        grpc.aio.insecure_channel(started.address) as channel,
    ):
        stub = PropagationServiceStub(channel)
        watching = stub.WatchPropagation(
            pb.WatchPropagationRequest(), metadata=bearer(secrets[Role.READ])
        )
        streaming = stub.StreamInteractions(metadata=bearer(secrets[Role.WRITE]))  # type: ignore[call-arg]
        await streaming.write(pb.StreamInteractionsRequest(interaction=EVENTS.interactions[0]))
        assert (await streaming.read()).outcome.sequence
        await watching.initial_metadata()
        _, left = create_token("left", [Role.WRITE])
        write_tokens(path, [left])
        for stream in (watching, streaming):
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await asyncio.wait_for(read_to_end(stream), 5)
            assert caught.value.code() == grpc.StatusCode.UNAUTHENTICATED


async def test_health_is_watched_without_a_token(tmp_path, tokens, monkeypatch):
    monkeypatch.setattr(interceptor, "RECHECK_SECONDS", 0.05)
    async with (
        start_service(tmp_path, tokens=tokens[0]) as started,
        grpc.aio.insecure_channel(started.address) as channel,
    ):
        watching = health_pb2_grpc.HealthStub(channel).Watch(health_pb2.HealthCheckRequest())
        assert (await watching.read()).status == health_pb2.HealthCheckResponse.SERVING
        await asyncio.sleep(0.2)
        await started.health.report_serving(False)
        assert (await watching.read()).status == health_pb2.HealthCheckResponse.NOT_SERVING


async def test_a_hangup_reads_the_tokens_at_once(tmp_path, tokens, monkeypatch):
    path, secrets = tokens
    monkeypatch.setattr(reloaded_file, "CHECK_SECONDS", 1_000.0)
    async with (
        start_service(tmp_path, tokens=path) as started,
        grpc.aio.insecure_channel(started.address) as channel,
    ):
        stub = PropagationServiceStub(channel)
        write_tokens(path, [])
        assert (
            await catch_code(stub.GetStatus(STATUS, metadata=bearer(secrets[Role.READ])))
            == grpc.StatusCode.OK
        )
        started.admission.reload_tokens()
        assert (
            await catch_code(stub.GetStatus(STATUS, metadata=bearer(secrets[Role.READ])))
            == grpc.StatusCode.UNAUTHENTICATED
        )


async def test_a_tokens_file_of_the_same_size_and_mtime_is_noticed(tmp_path, tokens, monkeypatch):
    path, secrets = tokens
    monkeypatch.setattr(reloaded_file, "CHECK_SECONDS", 0.0)
    async with (
        start_service(tmp_path, tokens=path) as started,
        grpc.aio.insecure_channel(started.address) as channel,
    ):
        stub = PropagationServiceStub(channel)
        before = path.stat()
        path.write_text(re.sub("[0-9a-f]{64}", "a" * 64, path.read_text()))
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        after = path.stat()
        assert (after.st_size, after.st_mtime_ns, after.st_ino) == (
            before.st_size,
            before.st_mtime_ns,
            before.st_ino,
        )
        assert (
            await catch_code(stub.GetStatus(STATUS, metadata=bearer(secrets[Role.READ])))
            == grpc.StatusCode.UNAUTHENTICATED
        )


def test_a_reload_that_was_asked_for_reads_files_that_look_as_before(tmp_path):
    path = tmp_path / "file"
    path.write_text("x")
    times = count(1)
    files = ReloadedFiles((path,), lambda: next(times))
    files.reload(if_changed=True)
    assert files.current() == 1
    files.reload()
    assert files.current() == 2


def test_a_broken_file_is_logged_once_and_again_when_a_reload_is_asked_for(tmp_path, monkeypatch):
    monkeypatch.setattr(reloaded_file, "CHECK_SECONDS", 0.0)
    path = tmp_path / "file"
    path.write_text("1")

    def read():
        if not path.read_text().isdigit():
            raise InvalidInput("file", "is no number")
        return int(path.read_text())

    files = ReloadedFiles((path,), read)
    with capture_logs() as logs:
        path.write_text("broken")
        assert [files.current() for _ in range(3)] == [1, 1, 1]
        assert len(logs) == 1
        files.reload()
        assert len(logs) == 2
        path.write_text("22")
        assert files.current() == 22
        path.write_text("broken again")
        assert files.current() == 22
    assert [one["log_level"] for one in logs] == ["error", "error", "info", "error"]


async def test_new_connections_get_a_new_certificate(tmp_path, pki, monkeypatch):
    monkeypatch.setattr(reloaded_file, "CHECK_SECONDS", 0.0)
    ca, server, _, other = pki
    mine, renewed = tmp_path / "mine.pem", make_certificate(tmp_path, "renewed", other)
    key = tmp_path / "mine.key"
    mine.write_bytes(server.certificate.read_bytes())
    key.write_bytes(server.key.read_bytes())
    async with start_service(tmp_path, tls=TlsSettings(certificate=mine, key=key)) as started:
        async with connect(started.address, Credentials(tls=True, ca=ca.certificate)) as stub:
            assert (await stub.GetStatus(STATUS)).version
        mine.write_bytes(renewed.certificate.read_bytes())
        async with connect(started.address, Credentials(tls=True, ca=ca.certificate)) as stub:
            assert (await stub.GetStatus(STATUS)).version, (
                "a certificate whose key is not there yet"
            )
        key.write_bytes(renewed.key.read_bytes())
        async with connect(started.address, Credentials(tls=True, ca=other.certificate)) as stub:
            assert (await stub.GetStatus(STATUS)).version


async def can_read_metrics(started, issuer, caller=None):
    context = ssl.create_default_context(cafile=issuer.certificate)
    if caller is not None:
        context.load_cert_chain(caller.certificate, caller.key)
    reader, writer = await asyncio.open_connection(
        "127.0.0.1", int(started.metrics.rpartition(":")[2]), ssl=context
    )
    writer.write(b"GET /metrics HTTP/1.1\r\n\r\n")
    answer = await reader.read()
    writer.close()
    return answer.startswith(b"HTTP/1.1 200")


async def test_the_metrics_endpoint_takes_callers_whose_certificates_the_calls_take(tmp_path, pki):
    ca, server, *_ = pki
    caller = make_certificate(tmp_path, "old", ca, strict=False)
    async with start_service(
        tmp_path, MonitoringSettings(port=0), tls=make_tls_settings(server, ca)
    ) as started:
        credentials = Credentials(ca=ca.certificate, certificate=caller.certificate, key=caller.key)
        async with connect(started.address, credentials) as stub:
            assert (await stub.GetStatus(STATUS)).version
        assert await can_read_metrics(started, ca, caller)


async def test_the_metrics_endpoint_uses_a_new_certificate_too(tmp_path, pki, monkeypatch):
    monkeypatch.setattr(reloaded_file, "CHECK_SECONDS", 0.0)
    ca, server, _, other = pki
    mine, key, renewed = (
        tmp_path / "mine.pem",
        tmp_path / "mine.key",
        make_certificate(tmp_path, "renewed", other),
    )

    async def can_read(issuer):
        try:
            return await can_read_metrics(started, issuer)
        except ssl.SSLCertVerificationError:
            return False

    mine.write_bytes(server.certificate.read_bytes())
    key.write_bytes(server.key.read_bytes())
    async with start_service(
        tmp_path, MonitoringSettings(port=0), tls=TlsSettings(certificate=mine, key=key)
    ) as started:
        assert [await can_read(ca), await can_read(other)] == [True, False]
        mine.write_bytes(renewed.certificate.read_bytes())
        assert [await can_read(ca), await can_read(other)] == [True, False], (
            "a certificate whose key is not there yet"
        )
        key.write_bytes(renewed.key.read_bytes())
        assert [await can_read(ca), await can_read(other)] == [False, True]


@pytest.mark.slow
async def test_calls_and_bytes_a_second_are_limited_by_client(tmp_path, tokens):
    path, secrets = tokens
    limits = LimitSettings(calls_per_second=0.5, bytes_per_second=2_000)
    async with (
        start_service(tmp_path, tokens=path, limits=limits) as started,
        grpc.aio.insecure_channel(started.address) as channel,
    ):
        stub = PropagationServiceStub(channel)
        assert (
            await catch_code(stub.GetStatus(STATUS, metadata=bearer(secrets[Role.READ])))
            == grpc.StatusCode.OK
        )
        assert (
            await catch_code(stub.GetStatus(STATUS, metadata=bearer(secrets[Role.READ])))
            == grpc.StatusCode.RESOURCE_EXHAUSTED
        )
        assert (
            await catch_code(stub.GetStatus(STATUS, metadata=bearer(secrets[Role.ANALYST])))
            == grpc.StatusCode.OK
        )
        large = pb.StreamInteractionsRequest(
            interaction=pb.Interaction(
                event_id="e", user_id="ann", item_id="i", metadata={"note": "x" * 3_000}
            )
        )
        began = time.monotonic()
        stream = stub.StreamInteractions(metadata=bearer(secrets[Role.WRITE]))  # type: ignore[call-arg]
        for number in (1, 2):
            large.interaction.event_id = f"e{number}"
            await stream.write(large)
        await stream.done_writing()
        acks = [answer async for answer in stream]
        assert len(acks) == 2, "a stream is slowed down, and drops nothing"
        assert time.monotonic() - began > 0.9


async def test_a_message_of_more_than_the_limit_is_refused(tmp_path):
    async with (
        start_service(tmp_path, max_message_bytes=2_000) as started,
        grpc.aio.insecure_channel(started.address) as channel,
    ):
        large = pb.RecordInteractionsRequest(interactions=[pb.Interaction(event_id="e" * 3_000)])
        assert (
            await catch_code(PropagationServiceStub(channel).RecordInteractions(large))
            == grpc.StatusCode.RESOURCE_EXHAUSTED
        )


def test_another_address_than_loopback_needs_both_tls_and_tokens(tmp_path, pki):
    _, server, _, _ = pki
    refuse_open_address(
        ServerSettings(host="0.0.0.0", tls=make_tls_settings(server), tokens=tmp_path / "tokens")
    )
    for part in ({"tls": make_tls_settings(server)}, {"tokens": tmp_path / "tokens"}, {}):
        with pytest.raises(NotLoopback, match=r"server\.tokens"):
            refuse_open_address(ServerSettings(host="0.0.0.0", **part))


async def test_unusable_tls_files_are_refused_at_start(tmp_path, pki):
    _, server, caller, _ = pki
    for tls, problem in (
        (TlsSettings(certificate=server.certificate), "belong together"),
        (
            TlsSettings(certificate=server.certificate, key=caller.key),
            "not a certificate and its key",
        ),
        (TlsSettings(certificate=tmp_path / "none", key=server.key), "none"),
        (
            TlsSettings(
                certificate=server.certificate, key=server.key, client_ca=tmp_path / "none"
            ),
            "none",
        ),
    ):
        with pytest.raises(BrokenTls, match=problem):
            async with start_service(tmp_path, tls=tls):
                pass


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("ann read\n", "line 1"),
        ("ann read,cook " + "0" * 64 + "\n", "cook"),
        ("ann read nothash\n", "line 1"),
        ("ann read " + "0" * 64 + " tomorrow\n", "'tomorrow' is not a time"),
        ("ann read " + "0" * 64 + " 90d\n", "'90d' is not a time"),
        ("a read " + "0" * 64 + "\na read " + "0" * 64 + "\n", "twice"),
    ],
)
def test_a_malformed_tokens_file_is_named_with_its_line(tmp_path, text, problem):
    path = tmp_path / "tokens"
    path.write_text(text)
    path.chmod(0o600)
    with pytest.raises(BrokenTokens, match=problem):
        read_tokens(path)


def test_a_tokens_file_that_others_may_write_is_refused(tokens):
    path, _ = tokens
    assert path.stat().st_mode & 0o777 == 0o600
    path.chmod(0o666)
    with pytest.raises(BrokenTokens, match="chmod 600"):
        read_tokens(path)


async def test_no_secret_is_in_the_file_the_log_or_an_error(tmp_path, tokens, capsys, caplog):
    path, secrets = tokens
    caplog.set_level(logging.DEBUG)
    async with (
        start_service(tmp_path, tokens=path) as started,
        grpc.aio.insecure_channel(started.address) as channel,
    ):
        stub = PropagationServiceStub(channel)
        wrong = secrets[Role.READ] + "x"
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await stub.GetStatus(STATUS, metadata=bearer(wrong))
        with pytest.raises(grpc.aio.AioRpcError) as denied:
            await stub.RunRound(pb.RunRoundRequest(), metadata=bearer(secrets[Role.READ]))
        await asyncio.sleep(0)
    output = "".join(
        [*capsys.readouterr(), caplog.text, str(caught.value), str(denied.value), path.read_text()]
    )
    assert "request refused" in output
    for secret in secrets.values():
        assert secret.partition(".")[2] not in output


def test_every_rpc_has_its_role():
    assert set(ROLES_BY_CALL) == {
        method.name for method in pb.DESCRIPTOR.services_by_name["PropagationService"].methods
    }


def test_settings_show_no_secret():
    from services.config.sources import Entry, SettingSource, SourceKind, load_settings

    flags = {"qdrant.api_key": Entry("hunter2", SettingSource(SourceKind.FLAG, "--set"))}
    assert "hunter2" not in str(load_settings(None, {}, flags).rows())
