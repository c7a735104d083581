"""Metrics and traces of a running service, fetched as Prometheus and a collector do."""

import asyncio
import json
import re
import sys
import urllib.error
import urllib.request
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from prometheus_client.parser import text_string_to_metric_families

from propagation.adapters.openai.options import OpenAIOptions
from propagation.adapters.shared.plain_secrets import PlainSecret
from propagation.model import StoreUnreachable
from propagation.v1 import propagation_pb2 as pb
from propagation.workflow.settings import WorkflowSettings
from propagation_client import Credentials
from services.client.stub import connect
from services.config.settings import MonitoringSettings, ServerSettings, Settings
from services.fake_llm.server import fake_llm
from services.monitoring import monitor
from services.monitoring.traces import Traces, derive_root
from services.runtime.errors import NotLoopback
from services.security.roles import ROLES_BY_CALL, Caller, Role
from services.security.tokens import create_token, write_tokens
from services.server import run_service
from tests.service.conftest import SMALL

EVENTS = pb.RecordInteractionsRequest(
    interactions=[
        pb.Interaction(event_id=f"e{n}", user_id=f"u{n % 3}", item_id=f"i{n % 4}")
        for n in range(12)
    ]
)
REASONED = "propagation_interactions_reasoned_total"
METRIC = re.compile(r"propagation_\w+")


@asynccontextmanager
async def start_service(tmp_path, monitoring, options=None, **server):
    settings = Settings(
        **{"reasoning_in": "loop", **(options or {})},
        database=tmp_path / "graph.db",
        server=ServerSettings(port=0, grace_seconds=0.2, **server),
        monitoring=monitoring,
        workflow=WorkflowSettings(**SMALL, auto_create=True),
    )
    async with run_service(settings) as started:
        yield started


async def fetch(address, path="/metrics", token=""):
    """Return the HTTP status and the body."""

    def ask():
        request = urllib.request.Request(
            f"http://{address}{path}", headers={"Authorization": f"Bearer {token}"} if token else {}
        )
        try:
            with urllib.request.urlopen(request, timeout=5) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    return await asyncio.to_thread(ask)


def parse_samples(text):
    """Return the samples by name and sorted label values."""
    return {
        (sample.name, *(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


async def record_and_run_round(started):
    """Something of everything happened."""
    async with connect(started.address) as stub:
        items = [
            pb.Client(
                key=pb.ClientKey(kind=pb.CLIENT_KIND_ITEM, id=f"i{n}"),
                title=f"Blue {n}",
                attributes=["jazz"],
            )
            for n in range(4)
        ]
        await stub.UpsertClients(pb.UpsertClientsRequest(clients=items))
        await stub.RecordInteractions(EVENTS)
        await stub.RecordInteractions(EVENTS)
        await stub.RunRound(pb.RunRoundRequest(drain=True))


async def test_an_unreachable_store_leaves_out_its_metrics_alone(tmp_path, monkeypatch):
    async def raise_unreachable(*_):
        raise StoreUnreachable("nobody answers")

    async def hang(*_):
        await asyncio.sleep(60)

    monkeypatch.setattr(monitor, "STORE_DEADLINE_SECONDS", 0.1)
    async with start_service(tmp_path, MonitoringSettings(port=0)) as started:
        await record_and_run_round(started)
        for stands in (raise_unreachable, hang):
            with monkeypatch.context() as patch:
                patch.setitem(started.worker.failures.reasons, "evolution", "no answer")
                patch.setattr(monitor.Monitor, "_collect_from_store", stands)
                status, text = await fetch(started.metrics)
            found = parse_samples(text)
            assert status == 200
            assert found["propagation_failing", "evolution"] == 1
            assert ("propagation_sequence", "learned") in found
            assert ("propagation_sequence", "recorded") not in found
            assert found["propagation_answers", "store"] == 0
        texts = await asyncio.gather(*[fetch(started.metrics) for _ in range(5)])
        for _, text in texts:
            assert ("propagation_sequence", "recorded") in parse_samples(text), (
                "who asks at the same time clears nothing of another's"
            )
            assert parse_samples(text)["propagation_answers", "store"] == 1


@pytest.mark.parametrize("reasoning_in", ["loop", "process"])
async def test_events_are_counted_and_every_metric_of_the_dashboard_exists(tmp_path, reasoning_in):
    async with start_service(
        tmp_path, MonitoringSettings(port=0), {"reasoning_in": reasoning_in}
    ) as started:
        await record_and_run_round(started)
        status, text = await fetch(started.metrics)
        assert status == 200
        found = parse_samples(text)
    exact = {
        ("propagation_events_total", "accepted"): 12,
        ("propagation_events_total", "duplicate"): 12,
        ("propagation_interactions_learned_total",): 12,
        ("propagation_rounds_total",): 1,
        ("propagation_steps_failed_total", "learn"): 0,
        ("propagation_jobs_missed_total", "evolution"): 0,
        ("propagation_rpc_seconds_count", "OK", "RecordInteractions"): 2,
        ("propagation_store_seconds_count", "record"): 2,
        ("propagation_clients", "user"): 3,
        ("propagation_clients", "item"): 4,
    }
    assert {name: found[name] for name in exact} == exact
    reasoned = [count for name, count in found.items() if name[0] == REASONED]
    assert sum(reasoned) == 12, "whichever process drafts the texts"
    recorded, learned = (
        found["propagation_sequence", through] for through in ("recorded", "learned")
    )
    assert recorded >= learned >= 12
    assert found["propagation_lag", "learned"] == recorded - learned
    above = (
        ("propagation_messages_sent_total",),
        ("propagation_profile_versions_total",),
        ("propagation_index_seconds_count", "upsert"),
    )
    assert [name for name in above if not found[name] > 0] == []
    exported = {family.name for family in text_string_to_metric_families(text)}
    dashboard = json.loads((Path(monitor.__file__).parent / "dashboard.json").read_text())
    asked_for = [
        target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", ())
    ]
    options = (Path(__file__).parents[3] / "docs" / "operations.md").read_text()  # the alarms, too
    wanted = {name for expression in (*asked_for, options) for name in METRIC.findall(expression)}
    not_yet = {
        "propagation_steps_failed",
        "propagation_part_failures",
        "propagation_budget_used",
        "propagation_budget_limit",
        "propagation_jobs_failed",
        "propagation_jobs_missed",
        "propagation_round_routers_skipped",
        "propagation_transactions_retried",
    }
    assert {re.sub("_(total|bucket|count)$", "", name) for name in wanted} <= exported | not_yet, (
        "a dashboard or an alarm asks for a metric that is not exported"
    )


@pytest.mark.parametrize("price", [0.0, 2.0])
async def test_the_cost_of_a_model_by_prompt_equals_that_of_the_status(tmp_path, price):
    async with fake_llm() as server:
        model = OpenAIOptions(
            base_url=server.base_url, price_prompt=price, price_completion=2 * price
        )
        async with start_service(
            tmp_path, MonitoringSettings(port=0), {"reasoner": "openai", "openai": model}
        ) as started:
            before = parse_samples((await fetch(started.metrics))[1])
            await record_and_run_round(started)
            async with connect(started.address) as stub:
                spending = (await stub.GetStatus(pb.GetStatusRequest())).spending
            found = parse_samples((await fetch(started.metrics))[1])
    assert not [name for name, *_ in before if name.startswith("propagation_model")]
    assert {"forward@4", "predict@3", "extract@2"} & {one.prompt for one in spending.prompts}
    for one in spending.prompts:
        assert found["propagation_model_calls_total", one.prompt] == one.calls
        assert found["propagation_model_cached_answers_total", one.prompt] == one.cached
        assert found["propagation_model_tokens_total", "prompt", one.prompt] == one.prompt_tokens
        assert (
            found["propagation_model_tokens_total", "completion", one.prompt]
            == one.completion_tokens
        )
        assert found["propagation_model_seconds_total", one.prompt] == pytest.approx(one.seconds)
        assert found.get(("propagation_model_money_total", one.prompt), 0) == pytest.approx(
            one.money
        )
    assert bool(price) is any(name == "propagation_model_money_total" for name, *_ in found)


async def test_other_paths_and_methods_are_refused_and_a_refused_call_is_counted_by_its_code(
    tmp_path,
):
    async with start_service(tmp_path, MonitoringSettings(port=0)) as started:
        assert (await fetch(started.metrics, "/"))[0] == 404
        reader, writer = await asyncio.open_connection(*started.metrics.split(":"))
        writer.write(b"POST /metrics HTTP/1.1\r\n\r\n")
        assert (await reader.read()).startswith(b"HTTP/1.1 405")
        writer.close()
        await writer.wait_closed()
        async with Credentials().channel(started.address) as channel:
            from propagation.v1.propagation_pb2_grpc import PropagationServiceStub

            with pytest.raises(Exception, match="key"):
                await PropagationServiceStub(channel).GetProfile(pb.GetProfileRequest())
        found = parse_samples((await fetch(started.metrics))[1])
    assert found["propagation_rpc_seconds_count", "INVALID_ARGUMENT", "GetProfile"] == 1


async def test_metrics_need_the_role_of_the_status_if_the_service_asks_for_tokens(tmp_path):
    made = {role: create_token(role, [role]) for role in Role}
    write_tokens(tmp_path / "tokens", [token for _, token in made.values()])
    async with start_service(
        tmp_path, MonitoringSettings(port=0), tokens=tmp_path / "tokens"
    ) as started:
        assert (await fetch(started.metrics))[0] == 401
        for role, (secret, token) in made.items():
            own = Caller.of_token(role, token.roles).roles
            allowed = not own.isdisjoint(ROLES_BY_CALL["GetStatus"])
            status, text = await fetch(started.metrics, token=secret)
            assert status == (200 if allowed else 403), role
            assert ("propagation_sequence" in text) is allowed
        assert (await fetch(started.metrics, token=made[Role.WRITE][0]))[1].startswith(
            "GetStatus needs the role"
        )


async def test_metrics_are_not_served_beyond_loopback_by_default(tmp_path):
    with pytest.raises(NotLoopback):
        async with start_service(tmp_path, MonitoringSettings(port=0, host="0.0.0.0")):
            pass


@pytest.mark.parametrize("reasoning_in", ["loop", "process"])
async def test_a_trace_leads_from_an_event_to_the_profiles_it_changed(
    tmp_path, monkeypatch, reasoning_in
):
    exporter = InMemorySpanExporter()
    monkeypatch.setattr(
        monitor,
        "_create_traces",
        lambda settings, holder: Traces(exporter, settings.trace_share, holder),
    )
    async with start_service(
        tmp_path,
        MonitoringSettings(traces="http://127.0.0.1:4317", trace_share=1.0),
        {"reasoning_in": reasoning_in},
    ) as started:
        await record_and_run_round(started)
    spans = exporter.get_finished_spans()
    roots = {span.attributes["sequence"]: span for span in spans if span.name == "record"}
    assert len(roots) == 12
    changed = [span for span in spans if span.name == "profile version"]
    assert changed
    for sequence, root in roots.items():
        ids = derive_root(sequence)
        assert (root.context.trace_id, root.context.span_id) == (ids.trace_id, ids.span_id)
        mine = {span.name: span for span in spans if span.context.trace_id == ids.trace_id}
        assert mine["learn"].parent.span_id == mine["reason"].parent.span_id == ids.span_id
        assert mine["reason"].start_time >= root.start_time
    assert {span.context.trace_id for span in changed} <= {
        derive_root(sequence).trace_id for sequence in roots
    }


def test_the_headers_of_a_collector_do_not_cross_a_network_in_clear(monkeypatch):
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "api-key=very-secret")
    with pytest.raises(PlainSecret, match="OTEL_EXPORTER_OTLP_HEADERS") as refused:
        monitor._create_traces(MonitoringSettings(traces="http://collector.example:4317"), "me")
    assert "very-secret" not in str(refused.value)
    for allowed in (
        MonitoringSettings(traces="http://collector.example:4317", insecure=True),
        MonitoringSettings(traces="https://collector.example:4317"),
        MonitoringSettings(traces="http://127.0.0.1:4317"),
    ):
        monitor._create_traces(allowed, "me").close()


def test_a_share_of_interactions_is_traced_the_same_everywhere():
    one, other = (Traces(InMemorySpanExporter(), 0.25, name) for name in ("one", "other"))
    chosen = [sequence for sequence in range(4_000) if one._is_traced(sequence)]
    assert chosen == [sequence for sequence in range(4_000) if other._is_traced(sequence)]
    assert 850 < len(chosen) < 1_150
    one.close()
    other.close()


@pytest.mark.slow
def test_what_is_switched_off_is_not_imported():
    import subprocess

    code = (
        "import sys; from services.config.settings import Settings; from services.server import"
        " _monitor_if_on; assert _monitor_if_on(Settings()) is None;"
        " sys.exit(any(name.startswith(('prometheus_client', 'opentelemetry', 'neo4j',"
        " 'qdrant_client', 'openai')) for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=60, check=False).returncode == 0
